"""Weights & Biases as a tracker (extra ``wandb``)."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import wandb

from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun


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

    def summarise(self, values: Mapping[str, float]) -> None:
        self._run.summary.update(dict(values))

    def save(self, path: Path) -> None:
        self._run.save(str(path), base_path=str(path.parent), policy="now")

    def close(self, *, is_finished: bool) -> None:
        self._run.finish(exit_code=0 if is_finished else 1)
