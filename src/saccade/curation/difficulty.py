"""Weak-to-strong filtering (CodeDance, section 3.2): pass rates of two models sort questions by difficulty."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from saccade.curation.by_id import read_by_id
from saccade.curation.codedance.settings import Level, Thresholds
from saccade.errors import UserError
from saccade.rewards.outcome import counts_as_right
from saccade.tasks.readers.fields import optional_number
from saccade.tasks.readers.rows import Row, RowError
from saccade.types import Attempt, Task

PassRates = Mapping[str, float]
"""Task id to the share of right answers."""

SHOWN = 5


def level_of(weak: float | None, strong: float | None, thresholds: Thresholds) -> Level:
    """A question's level by the pass rates of the weak and the strong model; None where that model was not asked.

    The strong model counts where the weak one fails: what it cannot answer either is unsolved. Without it nothing is.
    """
    if weak is None:
        return "unsorted" if strong is None or strong >= thresholds.solved_from else "unsolved"
    if weak >= thresholds.easy_from:
        return "easy"
    if weak >= thresholds.medium_from:
        return "medium"
    return "hard" if strong is None or strong >= thresholds.solved_from else "unsolved"


def pass_rates_of(attempts: Iterable[Attempt]) -> dict[str, float]:
    """Pass rates from trajectories that a run has left behind, by what the run's reward called right, where it did.

    What the machine failed counts neither way.
    """
    passed: dict[str, list[bool]] = {}
    for attempt in attempts:
        if attempt.trajectory.status != "failed":
            is_right = counts_as_right(attempt.task, attempt.trajectory)
            passed.setdefault(attempt.task.id, []).append(is_right)
    return {task_id: sum(rights) / len(rights) for task_id, rights in passed.items()}


def read_pass_rates(path: Path) -> dict[str, float]:
    """From JSON lines ``{"id": …, "pass_rate": 0.25}``. Raises UserError that names the file and all bad rows."""
    return read_by_id(path, _pass_rate)


def _pass_rate(row: Row) -> float:
    rate = optional_number(row, "pass_rate", low=0.0, high=1.0)
    if rate is None:
        raise RowError("pass_rate", "is missing")
    return rate


def check_covered(tasks: Iterable[Task], rates: PassRates, name: str) -> None:
    """UserError when questions have no pass rate in ``name``."""
    missing = [task.id for task in tasks if task.id not in rates]
    if missing:
        listed = ", ".join(missing[:SHOWN]) + (", …" if len(missing) > SHOWN else "")
        raise UserError(
            f"{name} has no pass rate for {len(missing)} of the questions ({listed}); measure them on the same file "
            "of questions, or leave those questions out"
        )
