"""What came of a turn, in a few words."""

import json

from saccade.protocols.code_words import PYTHON_TOOL
from saccade.types import Answer, Malformed, ToolCall, Turn


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
    """What came of a turn in a few words, and the arguments of its call as JSON."""
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
