"""Messages of a conversation, of any of the forms in use, and the pictures that stand in their parts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from saccade.tasks.rows.fields import (
    IMAGE_MARKER,
    VIDEO_MARKER,
    Row,
    RowError,
    RowValue,
    kind_of,
    listed,
    literal,
    mapping,
    row_with,
)

Role = Literal["system", "user", "assistant", "tool"]
"""``tool`` is a call or its result, and whatever role is unknown."""

ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "human": "user",
        "user": "user",
        "gpt": "assistant",
        "assistant": "assistant",
        "model": "assistant",
        "system": "system",
        "developer": "system",
    }
)
_NAMED_PICTURE = re.compile(r"(?:Picture \d{1,3}:\s*)?<img>\s*([^<>\n]{1,1000}?)\s*</img>")
"""Qwen-VL's way to show a picture."""

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_IMAGE_TYPES = ("image", "image_url", "input_image")
_IMAGE_KEYS = ("image", "image_url", "path", "url", "bytes", "source", "data", "base64")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowMessage:
    """A message of a row."""

    role: Role
    text: str
    """With a marker where a picture or a video stands."""
    pictures: tuple[RowValue, ...] = ()
    """Those that stand in its parts, in order."""
    videos: tuple[RowValue, ...] = ()
    value: RowValue = None
    """Its content where that is no text: a number, a box."""
    has_thought: bool = False
    """Whether a thought stands beside its content."""


def messages_of(value: RowValue, key: str) -> list[RowMessage]:
    """Messages of ``role`` and ``content``, or of ``from`` and ``value``; a list, or JSON text that holds one."""
    value = literal(value, key) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise RowError(key, f"must be a list of messages, not {kind_of(value)}")
    return [_message(fields, key) for message in value for fields in turns_of(mapping(message, key), key)]


def turns_of(fields: Row, key: str) -> list[Row]:
    """The message in OpenAI's form (``with_plain_parts``), or the two of a pair ``{"user": …, "assistant": …}`` or
    ``{"human": …, "assistant": …}``."""
    asking = next((name for name in ("user", "human") if name in fields), None)
    if asking is None or "assistant" not in fields:
        if not isinstance(fields.get("content"), list):
            return [fields]
        from saccade.tasks.rows.message_parts import with_plain_parts

        return [with_plain_parts(fields, key)]
    return [{"role": role, "content": fields[role]} for role in (asking, "assistant")]


def _message(fields: Row, key: str) -> RowMessage:
    named = fields.get("role", fields.get("from"))
    role = ROLES.get(str(named), "tool")
    if role == "assistant" and fields.get("tool_calls"):
        role = "tool"
    content = content_of(fields, key)
    return RowMessage(
        role=role,
        text=content.text.strip(),
        pictures=content.pictures,
        videos=content.videos,
        value=content.value,
        has_thought=thought_of(fields) != "",
    )


def thought_of(fields: Row) -> str:
    """The thought that stands beside a message's content; empty where there is none."""
    return next((text for name in _THOUGHTS if isinstance(text := fields.get(name), str) and text.strip()), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageContent:
    """What stands in a message, as in ``RowMessage``; the text with the white space around it."""

    text: str
    pictures: tuple[RowValue, ...] = ()
    videos: tuple[RowValue, ...] = ()
    value: RowValue = None


def content_of(fields: Row, key: str) -> MessageContent:
    """Content of a message: text, a bare value, or parts; ``RowError`` for parts that are neither text nor image."""
    content = fields.get("content", fields.get("value"))
    if isinstance(content, str) or content is None:
        text = content or ""
        return MessageContent(text=_NAMED_PICTURE.sub(IMAGE_MARKER, text), pictures=tuple(_NAMED_PICTURE.findall(text)))
    if _is_bare(content):
        return MessageContent(text=str(content), value=content)
    words: list[str] = []
    pictures: list[RowValue] = []
    videos: list[RowValue] = []
    for part in listed(content, key):
        word, picture, video = _part({"text": part} if isinstance(part, str) else mapping(part, key), key)
        words.append(word)
        pictures += [] if picture is None else [picture]
        videos += [] if video is None else [video]
    return MessageContent(text="".join(words), pictures=tuple(pictures), videos=tuple(videos))


def _is_bare(content: RowValue) -> bool:
    """Whether a content is a value: a number, or a list of numbers or of lists."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(item, int | float | list) for item in content)
    return isinstance(content, int | float)


def _part(fields: Row, key: str) -> tuple[str, RowValue, RowValue]:
    """A part's text or marker, its picture and its video; tables fill keys that a part does not have with nothing."""
    given = {name: value for name, value in fields.items() if value is not None}
    kind = given.get("type", next((name for name in ("image", "image_url", "video") if name in given), "text"))
    if kind == "video":
        return VIDEO_MARKER, None, given.get("video")
    if kind in _IMAGE_TYPES:
        return IMAGE_MARKER, next((_picture(given[name]) for name in _IMAGE_KEYS if name in given), None), None
    if isinstance(text := given.get("text"), str):
        return text, None, None
    raise RowError(key, f"a message holds a part that is neither text nor image: {sorted(fields)}")


def _picture(value: RowValue) -> RowValue:
    """The picture of ``{"url": …}`` and of ``{"type": "base64", "data": …}``, else the value itself."""
    if isinstance(value, Mapping):
        return next((value[name] for name in ("url", "data") if value.get(name) is not None), value)
    return value


def joined(messages: Sequence[RowMessage]) -> list[RowMessage]:
    """The messages, with questions that follow each other as one: a text, and then its picture."""
    found: list[RowMessage] = []
    for one in messages:
        if found and one.role == found[-1].role == "user":
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{one.text}".strip())
        else:
            found.append(one)
    return found


def with_parts_pictures(row: Row, messages: Sequence[RowMessage], images_key: str) -> Row:
    """The row with the pictures and videos of its messages' parts, where it has none under keys of its own."""
    pictures = [picture for message in messages for picture in message.pictures]
    videos = [video for message in messages for video in message.videos]
    if pictures and not row.get(images_key):
        row = row_with(row, {images_key: pictures})
    if videos and not row.get("videos") and not row.get("video"):
        return row_with(row, {"videos": videos})
    return row
