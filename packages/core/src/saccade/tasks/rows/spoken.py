"""Conversations of a row as they are, to be imitated: every turn, its thoughts, calls, and pictures where they stand.

===========================  ==========================================================================================
OpenAI, TRL                  ``messages`` (or ``prompt`` and ``completion`` or ``response``, which is learned) with
                             ``tool_calls``, role ``tool``, ``image_url`` and ``image`` parts, ``reasoning_content``
LLaMA-Factory, ShareGPT      ``conversations`` with ``function_call`` and ``observation``, ``system`` beside them
LLaMA-Factory 1.0            ``messages`` of parts with ``value`` (``message_parts``), and a ``loss_weight``
ms-swift                     ``messages`` with roles ``tool_call`` and ``tool_response``; ``loss`` of a message
Alpaca                       ``instruction, input, output``, ``query, response`` or ``question, response``, with
                             ``history``
calls in the text            ``<tool_call>{…}</tool_call>``, ``<code>…</code>`` and the like stay what they are: text
===========================  ==========================================================================================

A message with ``loss``, ``weight``, ``loss_weight``, ``train`` or ``training`` of false or 0 is shown and not learned.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.tasks.rows.calls import call_of, tools_of
from saccade.tasks.rows.conversations import alpaca_messages, message_key
from saccade.tasks.rows.fields import (
    IMAGE_MARKER,
    QWEN_MARKER,
    VIDEO_MARKER,
    Row,
    RowError,
    RowValue,
    is_encodable,
    listed,
    literal,
    mapping,
    optional_text,
    short,
)
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.layouts import GOLD_KEYS, holds_messages
from saccade.tasks.rows.messages import ROLES, content_of, thought_of, turns_of
from saccade.tasks.rows.parts import with_pictures
from saccade.types import ImageRef, Json, SpokenConversation, SpokenMessage, Task, ToolCall

MAX_MESSAGES = 1000
"""Each reply is rendered with all before it."""

_TOOLS = ("tool", "tool_response", "observation", "function", "ipython", "environment")
_CALLS = ("tool_call", "function_call")
_LEARNED = ("loss", "weight", "train", "training", "loss_weight")
_PART_KEYS = {"type", "text", "image", "image_url", "video"}
_LED_BY_THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """A message before its pictures are opened; ``text`` has a marker for each."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    pictures: tuple[RowValue, ...] = ()
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_learned: bool = True
    is_call: bool = False
    """A call with a role of its own, which belongs to the reply before it."""


def conversation_of(
    row: Row, images: ImageReader, *, where: str, stem: str
) -> tuple[SpokenConversation, tuple[str, ...]]:
    """The conversation of a row, and what of the row is left out; ``RowError`` says what cannot be imitated.

    ``where`` names file and row in messages, ``stem`` the file.
    """
    key, drafts = _drafts(row)
    last = max((place for place, one in enumerate(drafts) if one.role == "assistant"), default=-1)
    _check(drafts[: last + 1], key)
    notes = _left_out(row, drafts, last)
    messages = _with_pictures(row, drafts, images, where)[: last + 1]
    shown = tuple(part for one in messages for part in one.parts if isinstance(part, ImageRef))
    tools = tools_of(row.get("tools"))
    content = _content(messages, tools, shown)
    if not is_encodable(content):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    asked = [one.text.strip() for one in messages if one.role == "user" and one.text.strip()]
    if not asked and not shown:
        raise RowError(key, "answers nothing: no message of the user's has a word or a picture")
    task = Task(
        id=optional_text(row, "id", "question_id") or hashlib.sha256(content.encode()).hexdigest()[:16],
        family=optional_text(row, "family", "category", "data_source", "datasource") or stem,
        question=asked[-1] if asked else "?",
        answer=messages[-1].text.strip(),
        answer_kind="text",
        images=shown,
        source=stem,
    )
    return SpokenConversation(task=task, messages=messages, tools=tools), notes


def _drafts(row: Row) -> tuple[str, list[_Draft]]:
    key, said = _messages(row)
    drafts: list[_Draft] = []
    for fields, is_learned in said:
        one = _draft(fields, key, is_learned=is_learned)
        if one.is_call and drafts and drafts[-1].role == "assistant":
            before = drafts[-1]
            is_learned = before.is_learned and one.is_learned
            one = replace(before, text=before.text + one.text, calls=before.calls + one.calls, is_learned=is_learned)
            drafts[-1] = one
        else:
            drafts.append(one)
    system = optional_text(row, "system")
    if system and not any(one.role == "system" for one in drafts):
        drafts.insert(0, _Draft(role="system", text=system))
    return key, drafts


def _messages(row: Row) -> tuple[str, list[tuple[Row, bool]]]:
    """The key of the messages, and each with whether it is learned where it does not say so itself."""
    key = message_key(row)
    replies = ("completion",) if holds_messages(row.get(key)) else ("completion", "response")
    reply = next((name for name in replies if row.get(name) is not None), "")
    if reply and row.get("prompt") is not None:
        asked = _listed_messages(row["prompt"], "user", "prompt")
        said = _listed_messages(row[reply], "assistant", reply)
        return reply, [*((one, False) for one in asked), *((one, True) for one in said)]
    if holds_messages(row.get(key)):
        return key, [(one, True) for one in _listed_messages(row.get(key), "user", key)]
    if any(row.get(name) is not None for name in ("output", "response", "suffix")):
        key, messages = alpaca_messages(row)
        return key, [(mapping(one, key), True) for one in messages]
    raise RowError(
        "",
        f"holds no conversation (messages, conversations, or prompt and completion; it has {', '.join(sorted(row))}); "
        "questions with right answers are for the recipe questions",
    )


def _listed_messages(value: RowValue, role: str, key: str) -> list[Row]:
    """Messages in a list or JSON text; text that is none is one message."""
    if not holds_messages(value):
        return [{"role": role, "content": value}]
    return [fields for one in listed(literal(value, key), key) for fields in turns_of(mapping(one, key), key)]


def _draft(fields: Row, key: str, *, is_learned: bool) -> _Draft:
    named = str(fields.get("role", fields.get("from")))
    content = content_of(_with_text(fields), key)
    text = content.text.replace(QWEN_MARKER, IMAGE_MARKER)
    if content.videos or VIDEO_MARKER in text:
        raise RowError(key, "shows a video; conversations are imitated with pictures, give frames of it")
    role = "tool" if named in _TOOLS else "assistant" if named in _CALLS else ROLES.get(named)
    if role is None:
        raise RowError(key, f"has a message of role {short(named)}, which is not known")
    if role != "assistant":
        return _Draft(role=role, text=text, pictures=content.pictures)
    is_learned = _is_learned(fields, key, default=is_learned)
    if named in _CALLS:
        start = lead.end() if (lead := _LED_BY_THOUGHT.match(text)) else 0
        if not text[start:].lstrip().startswith(("{", "[")):
            # As agents that call by functions in the text write it.
            return _Draft(role=role, text=text, pictures=content.pictures, is_learned=is_learned, is_call=True)
        calls = tuple(call_of(one, key) for one in listed(literal(text[start:], key), key))
        return _Draft(role=role, text=text[:start], calls=calls, is_learned=is_learned, is_call=True)
    made = listed(literal(fields.get("tool_calls"), key), key) or listed(fields.get("function_call"), key)
    return _Draft(
        role=role,
        text=text,
        pictures=content.pictures,
        thought=thought_of(fields),
        calls=tuple(call_of(one, key) for one in made),
        is_learned=is_learned,
    )


def _with_text(fields: Row) -> Row:
    """The message with a call or a result that is an object, or a list of objects that are no parts, as JSON text."""
    name = "content" if "content" in fields else "value"
    value = fields.get(name)
    items = value if isinstance(value, list) else []
    is_json = isinstance(value, dict) or (
        bool(items) and all(isinstance(one, dict) and not one.keys() & _PART_KEYS for one in items)
    )
    return {**fields, name: json.dumps(value, ensure_ascii=False, default=str)} if is_json else fields


def _is_learned(fields: Row, key: str, *, default: bool) -> bool:
    for name in _LEARNED:
        value = fields.get(name)
        if value is not None:
            if value not in (0, 1):
                raise RowError(key, f"has a message with {name}={short(value)}; use true or false, 1 or 0")
            return bool(value)
    return default


def _check(drafts: Sequence[_Draft], key: str) -> None:
    """``RowError`` where there is nothing to imitate."""
    if not drafts:
        raise RowError(key, "has no assistant's message to imitate")
    if len(drafts) > MAX_MESSAGES:
        raise RowError(key, f"has {len(drafts)} messages, more than {MAX_MESSAGES}")
    first = next(place for place, one in enumerate(drafts) if one.role == "assistant")
    if not any(one.role == "user" for one in drafts[:first]):
        raise RowError(key, "begins with the assistant, before any question")
    if not any(one.role == "assistant" and one.is_learned for one in drafts):
        raise RowError(key, f"has no message to learn: all of the assistant's are marked by {' or '.join(_LEARNED)}")
    for place, one in enumerate(drafts, start=1):
        if one.role == "assistant" and not (one.text.strip() or one.calls):
            raise RowError(key, f"has nothing to say in message {place}, which is the assistant's")


def _with_pictures(row: Row, drafts: Sequence[_Draft], images: ImageReader, where: str) -> tuple[SpokenMessage, ...]:
    """Messages with their pictures: those of their own parts, else the next ones of the row.

    Pictures of a row whose messages have no marker at all stand before the first question.
    """
    key, row = with_pictures(row)
    waiting = [] if any(one.pictures for one in drafts) else listed(row.get(key), key)
    if waiting and not any(IMAGE_MARKER in one.text for one in drafts):
        first = next(place for place, one in enumerate(drafts) if one.role == "user")
        drafts = [
            replace(one, text=IMAGE_MARKER * len(waiting) + one.text) if place == first else one
            for place, one in enumerate(drafts)
        ]
    marked = sum(one.text.count(IMAGE_MARKER) for one in drafts)
    given = len(waiting) or sum(len(one.pictures) for one in drafts)
    if marked != given:
        raise RowError(key or "images", f"{marked} pictures are marked in the messages, and {given} are given")
    values: Iterator[RowValue] = iter(waiting or [picture for one in drafts for picture in one.pictures])
    refs = (images.read(value, key, f"{where}, image {place}") for place, value in enumerate(values, start=1))
    return tuple(_spoken_message(one, refs) for one in drafts)


def _spoken_message(one: _Draft, refs: Iterator[ImageRef]) -> SpokenMessage:
    first, *rest = one.text.split(IMAGE_MARKER)
    parts: list[str | ImageRef] = [first]
    for text in rest:
        parts += [next(refs), text]
    return SpokenMessage(
        role=one.role,
        parts=tuple(part for part in parts if part != ""),
        thought=one.thought,
        calls=one.calls,
        is_learned=one.is_learned,
    )


def _left_out(row: Row, drafts: Sequence[_Draft], last: int) -> tuple[str, ...]:
    if row.get("objects") and any(mark in one.text for one in drafts for mark in ("<bbox>", "<ref-object>")):
        raise RowError("objects", "`<bbox>` and `<ref-object>` are filled in for questions alone; write the boxes out")
    names = [name for name in (*GOLD_KEYS, "label", "objects", "chosen") if row.get(name) is not None]
    rejected = [name for name in row if name.startswith("rejected") and row[name] is not None]
    return (
        *(["messages after the last reply"] if drafts[last + 1 :] else []),
        *(f"`{name}`" for name in (*names, *rejected)),
    )


def _content(messages: Sequence[SpokenMessage], tools: Sequence[dict[str, Json]], shown: Sequence[ImageRef]) -> str:
    """All that is said and shown, as one text."""
    said = [[one.role, one.text, one.thought, [[call.name, call.arguments] for call in one.calls]] for one in messages]
    return json.dumps([said, tools, [image.hash for image in shown]], default=repr, ensure_ascii=False)
