"""Figures of a run beyond the shares of its evaluations: out of its metrics, and differences of two figures."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from studies.claims.design import Figure, share_of
from studies.seed_runs import Row, read

ACCURACY = "reward/accuracy"
"""The share of right trajectories that a step sampled."""
WINDOW = 5
"""Steps over which what is sampled is averaged."""


def last_share(label: str, stages: Sequence[str], key: str = "accuracy") -> Figure:
    """The share of the first of these evaluations that the run has: name the latest first."""
    shares = [share_of(label, stage, key) for stage in stages]

    def value(directory: Path, report: Row) -> float | None:
        found = (one.read(directory, report) for one in shares)
        return next((one for one in found if one is not None), None)

    return Figure(label=label, read=value)


def difference_of(label: str, one: Figure, other: Figure) -> Figure:
    """One figure of a run less another of it; None where the run lacks either."""

    def value(directory: Path, report: Row) -> float | None:
        first, second = one.read(directory, report), other.read(directory, report)
        return None if first is None or second is None else first - second

    return Figure(label=label, read=value)


def steps_to(label: str, level: float, *, stage: str = "rl") -> Figure:
    """The step at whose end a mean over ``WINDOW`` steps of the sampled accuracy first is ``level``.

    As many as the stage has where it never is, so that the slowest are not left out.
    """

    def value(directory: Path, _: Row) -> float | None:
        steps = _steps(directory, stage)
        found = _window_at(steps, level) or steps[-1:]
        return float(found[-1]["step"]) if found else None

    return Figure(label=label, read=value)


def at_level(label: str, level: float, key: str, *, stage: str = "rl") -> Figure:
    """A hundred times the mean of a metric over the ``WINDOW`` steps that first reach this accuracy; None if none."""

    def value(directory: Path, _: Row) -> float | None:
        found = [row[key] for row in _window_at(_steps(directory, stage), level) if row.get(key) is not None]
        return 100 * mean(found) if found else None

    return Figure(label=label, read=value)


def _steps(directory: Path, stage: str) -> list[Row]:
    return [row for row in read(directory / "metrics.jsonl") if row["stage"] == stage and row.get(ACCURACY) is not None]


def _window_at(steps: Sequence[Row], level: float) -> Sequence[Row]:
    windows = (steps[end - WINDOW : end] for end in range(WINDOW, len(steps) + 1))
    return next((one for one in windows if mean(row[ACCURACY] for row in one) >= level), ())
