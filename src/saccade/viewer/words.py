"""Words and bars of a page: numbers and shares in short; hostile text made visible.

Escaping is left to the template.
"""

import math
import unicodedata
from dataclasses import dataclass

from saccade.evaluation.statistics import Accuracy

MAX_SHOWN_CHARACTERS = 4000
_KEPT_CONTROLS = "\n\t"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MAX_MARKS = 3
"""Combining marks in a row; more would climb over the lines above."""


def number_text(value: float) -> str:
    """A number in four significant digits or fewer: ``0.0123``, ``1,234``, ``6.5e-4``."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-3 <= size < 1e7:
        return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    mantissa, _, power = f"{value:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(power)}"


def percent_text(share: float | None) -> str:
    """``63.3 %``, kept on one line; an en dash for None."""
    if share is None:
        return "–"
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text}\N{NO-BREAK SPACE}%"


def readable(name: str) -> str:
    """A name of a stage or metric for people: ``after_rl`` is ``after rl``."""
    return name.replace("_", " ").replace("/", ", ")


def visible(text: str, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """The text with invisible and direction-changing characters spelled out, cut with a note where it is long."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = 0
    for character in text[:limit]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MAX_MARKS:
            continue
        is_hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES and character not in _KEPT_CONTROLS
        shown.append(f"⟨U+{ord(character):04X}⟩" if is_hidden else character)
    if len(text) > limit:
        shown.append(f" … [{len(text) - limit:,} more characters are in the trajectory file]")
    return "".join(shown)


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
