"""A tool call as JSON: ``{"name": …, "arguments": {…}}``, read without trust and written."""

import json

from saccade.protocols.blocks import is_unicode
from saccade.types import Json, Malformed, ToolCall

MAX_CALL_CHARS = 1 << 14
MAX_CALL_DEPTH = 32
"""Objects and lists inside one another; deeper ones would break whatever walks the arguments later."""


def written_call(call: ToolCall) -> str:
    """The call as a model should write it; whole numbers without decimals."""
    arguments = {key: _whole(value) for key, value in call.arguments.items()}
    return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)


def read_call(content: str) -> ToolCall | Malformed:
    """The call, or what is wrong with it; the text is the model's."""
    if len(content) > MAX_CALL_CHARS:
        return Malformed(why=f"the call is longer than {MAX_CALL_CHARS} characters")
    try:
        value: Json = json.loads(content, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        return Malformed(why="the call is nested too deeply")
    except ValueError as error:
        return Malformed(why=f"the call is not valid JSON: {str(error)[:200]}")
    if _depth(value) > MAX_CALL_DEPTH:
        return Malformed(why=f"the call is nested deeper than {MAX_CALL_DEPTH} levels")
    shape = 'a call is {"name": "…", "arguments": {…}}'
    if not isinstance(value, dict):
        return Malformed(why=f"the call is not a JSON object; {shape}")
    if set(value) != {"name", "arguments"}:
        return Malformed(why=f"the call must have exactly the keys name and arguments; {shape}")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not name:
        return Malformed(why=f"the call's name is not a text; {shape}")
    if not isinstance(arguments, dict):
        return Malformed(why=f"the call's arguments are not an object; {shape}")
    # An escape such as \ud800 passes JSON, but no UTF-8 file could hold it.
    if not is_unicode(json.dumps(value, ensure_ascii=False)):
        return Malformed(why="the call is not valid Unicode")
    return ToolCall(name=name, arguments=arguments)


def _depth(value: Json) -> int:
    """Levels of objects and lists, counted one level at a time, without recursion."""
    depth, level = 0, [value]
    while level := [
        item
        for outer in level
        if isinstance(outer, dict | list)
        for item in (outer.values() if isinstance(outer, dict) else outer)
    ]:
        depth += 1
    return depth


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def _refuse_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is not a JSON number")


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value
