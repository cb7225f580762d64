"""Parts of messages that are thoughts and calls, brought to where OpenAI's messages have them.

====================  =================================================================================================
LLaMA-Factory 1.0     ``{"type": "text" | "reasoning" | "tool_call" | "image_url" | "video_url", "value": …}``
others                ``{"type": "reasoning", "text": …}``, ``{"type": "thinking", "thinking": …}`` and
                      ``{"type": "tool_use", "name": …, "input": …}`` (Anthropic) among parts as OpenAI has them
====================  =================================================================================================
"""

from saccade.tasks.rows.fields import Row, RowError, RowValue, literal

_THOUGHTS = ("reasoning", "thinking")
_CALLS = ("tool_call", "tool_use")
_SHOWN = {"text": "text", "image_url": "image_url", "video_url": "video"}
"""LLaMA-Factory's kind of a part, and the key under which OpenAI's part of that kind has it."""


def with_plain_parts(fields: Row, key: str) -> Row:
    """The message with ``reasoning_content`` and ``tool_calls`` in the place of parts that are such.

    Its other parts are OpenAI's. A message that has no part of another form is returned as it is; ``RowError`` for a
    part with a ``value`` that is no text, picture, video, thought or call.
    """
    content = fields.get("content")
    if not isinstance(content, list) or not any(_is_other(part) for part in content):
        return fields
    thoughts: list[str] = []
    calls: list[RowValue] = []
    shown: list[RowValue] = []
    for part in content:
        if not isinstance(part, dict):
            shown.append(part)
        elif part.get("type") in _THOUGHTS:
            thoughts.append(_thought(part, key))
        elif part.get("type") in _CALLS:
            calls.append(_call(part, key))
        else:
            shown.append(_plain(part, key))
    thought: dict[str, RowValue] = {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    called: dict[str, RowValue] = {"tool_calls": calls} if calls else {}
    return {**fields, "content": shown, **thought, **called}


def _is_other(part: RowValue) -> bool:
    if not isinstance(part, dict):
        return False
    return part.get("type") in (*_THOUGHTS, *_CALLS) or ("type" in part and part.get("value") is not None)


def _thought(part: Row, key: str) -> str:
    for name in ("value", "text", *_THOUGHTS):
        if isinstance(thought := part.get(name), str):
            return thought
    raise RowError(key, f"a message holds a thought without a text: {sorted(part)}")


def _call(part: Row, key: str) -> RowValue:
    """A call as ``call_of`` reads it."""
    if part.get("value") is not None:
        return literal(part["value"], key)
    if "input" in part:
        return {"name": part.get("name"), "arguments": part["input"]}
    return part


def _plain(part: Row, key: str) -> Row:
    if part.get("value") is None:
        return part
    kind = str(part["type"])
    if kind not in _SHOWN:
        raise RowError(key, f"a message holds a part of type {kind!r}, which is neither text nor image")
    return {"type": _SHOWN[kind], _SHOWN[kind]: part["value"]}
