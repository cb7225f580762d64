"""Words and bars of a page.

Escaping is left to the template.
"""

from dataclasses import dataclass

from saccade.characters import MAX_SHOWN_CHARACTERS, number_text, percent_text, readable, visible
from saccade.evaluation.statistics import Accuracy

__all__ = ["MAX_SHOWN_CHARACTERS", "Bar", "bar_of", "number_text", "percent_text", "readable", "visible"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A bar and its numbers; ``low``, ``high`` and ``center`` are percent of its width."""

    accuracy: str
    interval: str
    n: int
    low: float
    high: float
    center: float | None
    """None where nothing was scored."""


def bar_of(answers: Accuracy) -> Bar:
    """The bar of a share with its Wilson interval."""
    low, high = answers.ci95
    return Bar(
        accuracy=percent_text(answers.accuracy),
        interval=f"{100 * low:.1f} to {100 * high:.1f} %" if answers.n else "–",
        n=answers.n,
        low=_percent(low),
        high=_percent(high),
        center=None if answers.accuracy is None else _percent(answers.accuracy),
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)
