"""Words and bars of a page: numbers, shares and outcomes of turns in short; hostile text made visible.

Escaping is left to the template.
"""

import json
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from saccade.evaluation.statistics import Accuracy
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.rewards.reward import counts_as_right
from saccade.types import Answer, Attempt, Malformed, Page, Task, ToolCall, Turn

MAX_SHOWN_CHARACTERS = 4000
_KEPT_CONTROLS = "\n\t"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SCORER = "scorer/"
_MAX_MARKS = 3
"""Combining marks in a row; more would climb over the lines above."""


def page_template(name: str) -> Template:
    """A page's template. Text of models, tasks and settings is escaped by it, markup is our own."""
    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent, Path(__file__).parent / "app"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    return environment.get_template(name)


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


def noted(numbers: Mapping[str, float]) -> list[tuple[str, str]]:
    """Notes of a score as name and value; names of scorers are one note: ``scorers`` and ``detector, teacher``."""
    scorers = [name.removeprefix(_SCORER) for name, value in numbers.items() if name.startswith(_SCORER) and value]
    first = [("scorers", visible(", ".join(map(readable, scorers)), 120))] if scorers else []
    others = (pair for pair in numbers.items() if not pair[0].startswith(_SCORER))
    return [*first, *((visible(readable(name), 40), number_text(value)) for name, value in others)]


def visible(text: str, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """The text with invisible and direction-changing characters spelled out, cut with a note where it is long."""
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


def code_of(turn: Turn) -> str | None:
    """The code that the turn wants run."""
    if not isinstance(turn.action, ToolCall) or turn.action.name != PYTHON_TOOL:
        return None
    code = turn.action.arguments.get("code")
    return code if isinstance(code, str) else None


def _fate_of_code(turn: Turn) -> str:
    if turn.result is None:
        return "the code was not run"
    if turn.result.is_ok:
        return "ran the code"
    return f"the code failed: {turn.result.data.get('error_name') or turn.result.data.get('error_kind')}"


def turn_outcome(turn: Turn) -> tuple[str, str]:
    """Outcome of a turn in a few words, and the arguments of its call as JSON."""
    if code_of(turn) is not None:
        return _fate_of_code(turn), ""
    match turn.action:
        case ToolCall(name=name, arguments=arguments):
            if turn.result is None:
                return f"call of {name} was refused", json.dumps(dict(arguments), ensure_ascii=False)
            fate = "called" if turn.result.is_ok else "failed to call"
            return f"{fate} {name}", json.dumps(dict(arguments), ensure_ascii=False)
        case Answer():
            return "answered", ""
        case Malformed(why=why):
            return f"malformed: {why}", ""


def verdict(attempt: Attempt) -> str:
    """``right``, ``wrong`` or ``failed``."""
    if attempt.trajectory.status == "failed":
        return "failed"
    return "right" if counts_as_right(attempt.task, attempt.trajectory) else "wrong"


def page_words(task: Task, index: int) -> str:
    """``image 2: report.pdf#7, a gold page``: an image of the question by its page, as far as that is known."""
    page = task.shown_pages[index] if index < len(task.shown_pages) else None
    if page is None:
        return f"image {index + 1}"
    return f"image {index + 1}: {visible(str(page), 80)}{', a gold page' if is_gold(task, page) else ''}"


def is_gold(task: Task, page: Page) -> bool:
    return page in (task.gold_pages or ())
