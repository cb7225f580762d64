"""What stops a run that would go on without learning: nothing to score, or steps that change no weight."""

from collections.abc import Mapping, Sequence

from saccade import metric_names as metric
from saccade.errors import MachineError
from saccade.types import Attempt

SKIPPED_IN_A_ROW = 5
"""So many steps without a finite loss, one after the other, are no accident."""


def check_scored(attempts: Sequence[Attempt], where: str) -> None:
    """MachineError that shows the first failure when every trajectory failed; some that did are only counted."""
    failed = [attempt.trajectory for attempt in attempts if attempt.trajectory.status == "failed"]
    if not failed or len(failed) < len(attempts):
        return
    first = failed[0]
    raise MachineError(
        f"{where}: all {len(failed)} trajectories failed, so there is nothing to score. The first "
        f"({first.task_id}, sample {first.sample}) says: {first.failure}. Mend the cause, then continue with --resume, "
        "or choose another --out where a setting has to change"
    )


class SkippedSteps:
    """Counts steps that were skipped because their loss or gradient was not finite."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._in_a_row = 0

    def count(self, metrics: Mapping[str, float]) -> None:
        """MachineError after ``SKIPPED_IN_A_ROW`` steps one after the other in which every update was skipped.

        A step that had nothing to learn from is none of them, and ends no row of them either.
        """
        updates = metrics.get(metric.UPDATES, 1.0)
        if not updates:
            return
        self._in_a_row = self._in_a_row + 1 if metrics.get(metric.SKIPPED, 0.0) >= updates else 0
        if self._in_a_row >= SKIPPED_IN_A_ROW:
            raise MachineError(
                f"stage {self._stage!r}: the last {self._in_a_row} steps gave no finite loss or gradient and changed "
                "no weight: training has diverged. Start a new run with a lower learning rate, from an earlier "
                "checkpoint if there is one"
            )
