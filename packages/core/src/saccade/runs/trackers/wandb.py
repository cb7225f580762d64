"""Weights & Biases as a tracker (extra ``wandb``)."""

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import wandb

from saccade.runs.trackers.pictures import MOST
from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun, TrackedTrace
from saccade.types import Json


class WandbTracker:
    """A run of W&B, taken up again by its id. ``WANDB_MODE=offline`` writes below the run's directory."""

    def __init__(self, asked: TrackedRun) -> None:
        self._run = wandb.init(
            project=asked.project,
            name=asked.name,
            id=asked.id,
            resume="allow",
            dir=str(asked.folder),
            config=dict(asked.settings),
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
        )

    def records(self) -> Set[int]:
        # Offline nothing can be asked: the server takes each step once when the files are sent.
        return frozenset() if self._run.offline else frozenset(range(1, int(self._run.step)))

    def pictures(self) -> Set[tuple[int, str]]:
        return frozenset()

    def log(self, number: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, RECORD: number}, step=number)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        if number < self._run.step:
            # A step that W&B has taken is closed.
            return
        shown = {one.name: wandb.Image(one.image, caption=one.caption) for one in pictures}
        self._run.log(shown, step=number)

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None:
        if number < self._run.step:
            return
        stage = traces[0].name.partition("/")[0]
        self._run.log({f"{stage}/traces": _table(traces)}, step=number)

    def summarise(self, values: Mapping[str, float]) -> None:
        self._run.summary.update(dict(values))

    def save(self, path: Path) -> None:
        self._run.save(str(path), base_path=str(path.parent), policy="now")

    def close(self, *, is_finished: bool) -> None:
        self._run.finish(exit_code=0 if is_finished else 1)


def _table(traces: Sequence[TrackedTrace]) -> wandb.Table:
    """A row of each trajectory: its text, its pictures one by one, and its values."""
    pictures = [[part for _, parts in one.messages for part in parts if not isinstance(part, str)] for one in traces]
    count = min(MOST, max(map(len, pictures)))
    names = list(dict.fromkeys(name for one in traces for name in one.values))
    rows = []
    for one, seen in zip(traces, pictures, strict=True):
        shown = [wandb.Image(picture) for picture in seen[:count]]
        values = [_cell(one.values.get(name)) for name in names]
        rows.append([_text(one), *shown, *[None] * (count - len(shown)), *values])
    return wandb.Table(columns=["text", *(f"picture_{index}" for index in range(count)), *names], data=rows)


def _text(trace: TrackedTrace) -> str:
    lines = []
    for role, parts in trace.messages:
        lines.append(f"[{role}] " + " ".join(part if isinstance(part, str) else "[picture]" for part in parts))
    return "\n".join(lines)


def _cell(value: Json) -> Json:
    return value if isinstance(value, str | int | float | None) else json.dumps(value)
