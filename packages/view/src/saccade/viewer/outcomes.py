"""Words on what a trajectory did: outcomes of turns, its verdict, the notes of its score, the pages it was shown."""

import json
from collections.abc import Mapping

from saccade.protocols.code_words import PYTHON_TOOL
from saccade.rewards.reward import counts_as_right
from saccade.types import Answer, Attempt, Malformed, Task, ToolCall, Turn
from saccade.viewer.words import number_text, readable, visible

_SCORER = "scorer/"


def note_pairs(numbers: Mapping[str, float]) -> list[tuple[str, str]]:
    """Notes of a score as name and value; names of scorers are one note: ``scorers`` and ``detector, teacher``."""
    scorers = [name.removeprefix(_SCORER) for name, value in numbers.items() if name.startswith(_SCORER) and value]
    first = [("scorers", visible(", ".join(map(readable, scorers)), 120))] if scorers else []
    others = (pair for pair in numbers.items() if not pair[0].startswith(_SCORER))
    return [*first, *((visible(readable(name), 40), number_text(value)) for name, value in others)]


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


def turn_outcome(turn: Turn, *, is_foreign: bool = False) -> tuple[str, str]:
    """Outcome of a turn in a few words, and the arguments of its call as JSON.

    Other trainers' files (``is_foreign``) may leave out what a call gave; in a record, a call without a result was
    refused.
    """
    if code_of(turn) is not None and not (is_foreign and turn.result is None):
        return _fate_of_code(turn), ""
    match turn.action:
        case ToolCall(name=name, arguments=arguments):
            said = json.dumps(dict(arguments), ensure_ascii=False)
            if turn.result is None:
                return f"called {name}; no result is recorded" if is_foreign else f"call of {name} was refused", said
            return f"{'called' if turn.result.is_ok else 'failed to call'} {name}", said
        case Answer():
            return "answered", ""
        case Malformed(why=why):
            return f"malformed: {why}", ""


def went_well(turn: Turn, *, is_foreign: bool = False) -> bool:
    """Whether the turn keeps the format, and a call of it ran without an error."""
    is_call = isinstance(turn.action, ToolCall) and code_of(turn) is None
    is_refused = is_call and turn.result is None and not is_foreign
    return turn.is_well_formed and not is_refused and (turn.result is None or turn.result.is_ok)


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
    return f"image {index + 1}: {visible(str(page), 80)}{', a gold page' if page in (task.gold_pages or ()) else ''}"
