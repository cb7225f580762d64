"""Weights & Biases as a tracker (extra ``wandb``)."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import wandb

from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun


class WandbTracker:
    """A run of W&B, taken up again by its id. ``WANDB_MODE=offline`` writes below the run's directory."""

    def __init__(self, asked: TrackedRun) -> None:
        self._run = wandb.init(
            project=asked.project,
            name=asked.name,
            id=asked.id or uuid.uuid4().hex[:12],
            resume="allow",
            dir=str(asked.folder),
            config=dict(asked.settings),
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
        )

    @property
    def id(self) -> str:
        return str(self._run.id)

    def newest(self) -> int:
        # Offline nothing can be asked: the server takes each step once when the files are sent.
        return 0 if self._run.offline else max(0, int(self._run.step) - 1)

    def log(self, number: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, RECORD: number}, step=number)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        shown = {one.name: wandb.Image(one.image, caption=one.caption) for one in pictures}
        self._run.log(shown, step=number)

    def summarise(self, values: Mapping[str, float]) -> None:
        self._run.summary.update(dict(values))

    def save(self, path: Path) -> None:
        self._run.save(str(path), base_path=str(path.parent), policy="now")

    def close(self, *, is_finished: bool) -> None:
        self._run.finish(exit_code=0 if is_finished else 1)
