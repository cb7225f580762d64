"""Conversations as rows: LLaVA's and ShareGPT's, ms-swift's, MM-Eureka's, OpenAI's files, Alpaca's, TRL's prompts.

The last question is asked, earlier ones and their answers stand before it as text. The right answer stands under a key
of its own (``GOLD_KEYS``), or else it is the last thing that the assistant says.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from saccade.tasks.rows.fields import (
    IMAGE_MARKER,
    Row,
    RowError,
    RowValue,
    final_answer,
    is_worked,
    listed,
    optional_text,
    row_with,
)
from saccade.tasks.rows.grounding import with_objects
from saccade.tasks.rows.layouts import GOLD_KEYS, MESSAGE_KEYS, holds_messages
from saccade.tasks.rows.messages import RowMessage, joined, messages_of, with_parts_pictures
from saccade.tasks.rows.parts import RowParts, row_parts, with_pictures
from saccade.tasks.rows.problems import gold_of


def conversation(row: Row) -> tuple[str, list[tuple[str, str]]]:
    """The key of a conversation, and (role, text) of its messages up to the assistant's last; no system message."""
    key = message_key(row)
    turns = [(one.role, one.text) for one in messages_of(row.get(key), key) if one.role in ("user", "assistant")]
    if not turns or turns[-1][0] != "assistant":
        raise RowError(key, "does not end with an assistant's answer")
    return key, [(str(role), text) for role, text in turns]


def message_key(row: Row) -> str:
    """The key under which a row has messages, a list or JSON text."""
    return next((key for key in MESSAGE_KEYS if holds_messages(row.get(key))), MESSAGE_KEYS[0])


def read_sharegpt(row: Row) -> RowParts:
    """One task per conversation. The answer is the inside of ``<answer>`` where there is one, without ``<think>``."""
    key = message_key(row)
    return _row_parts(row, messages_of(row.get(key), key), key, _gold_key(row))


def read_trl(row: Row) -> RowParts:
    """TRL's ``prompt``, text or messages, and the right answer under a key of its own or as a ``completion``."""
    prompt = row.get("prompt")
    messages = messages_of(prompt, "prompt") if holds_messages(prompt) else [_message_of("user", prompt)]
    completion = row.get("completion")
    gold = _gold_key(row) or ("label" if completion is None and row.get("label") is not None else None)
    if gold is None:
        if completion is None and row.get("chosen") is not None:
            raise RowError("chosen", "pairs of preferences have no right answer; give one as solution")
        said = (
            messages_of(completion, "completion")
            if holds_messages(completion)
            else [_message_of("assistant", completion)]
        )
        return _row_parts(row, [*messages, *said], "completion", None)
    return _row_parts(row, messages, "prompt", gold)


def read_alpaca(row: Row) -> RowParts:
    """``instruction``, ``input``, ``output`` (Alpaca), ``query`` and ``response`` (ms-swift), with a ``history``, or
    ``prefix`` and ``suffix``."""
    key, fields = alpaca_messages(row)
    messages = messages_of(fields, key)
    return _row_parts(row, messages, key, _gold_key(row))


def alpaca_messages(row: Row) -> tuple[str, list[RowValue]]:
    """The key of the last reply, and the row as messages."""
    key = next((key for key in ("output", "response", "suffix") if row.get(key) is not None), "output")
    asked = [text for name in ("instruction", "input", "query", "prefix") if (text := optional_text(row, name))]
    if not asked and (question := optional_text(row, "question", "problem")):
        asked = [question]
    messages: list[RowValue] = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    for pair in listed(row.get("history"), "history"):
        texts = listed(pair, "history")
        if len(texts) != 2:
            raise RowError("history", "must be a list of [question, answer]")
        messages += [{"role": "user", "content": texts[0]}, {"role": "assistant", "content": texts[1]}]
    return key, [
        *messages,
        {"role": "user", "content": "\n".join(asked)},
        {"role": "assistant", "content": row.get(key)},
    ]


def _message_of(role: str, content: RowValue) -> RowMessage:
    return messages_of([{"role": role, "content": content}], "prompt")[0]


def _gold_key(row: Row) -> str | None:
    return next((key for key in GOLD_KEYS if row.get(key) not in (None, "", [])), None)


def _row_parts(row: Row, messages: Sequence[RowMessage], key: str, gold: str | None) -> RowParts:
    messages, row, boxes = with_objects(messages, row)
    asked_in = frozenset(map(id, messages[: _last_asked(messages) + 1]))
    turns = joined([one for one in messages if one.role in ("user", "assistant")])
    if gold is None and (not turns or turns[-1].role != "assistant"):
        raise RowError(key, f"does not end with an assistant's answer, and there is none under {', '.join(GOLD_KEYS)}")
    asked = [index for index, one in enumerate(turns) if one.role == "user"]
    if not asked:
        raise RowError(key, "has no user message")
    last = turns[-1]
    answer: RowValue = last.value
    if gold is not None:
        answer, worked = gold_of(row.get(gold), gold)
    elif answer is None:
        answer, worked = final_answer(last.text, key), ("thoughts before the answer",) if is_worked(last.text) else ()
    else:
        worked = ()
    earlier = [f"{'Question' if one.role == 'user' else 'Answer'}: {one.text}" for one in turns[: asked[-1]]]
    question = turns[asked[-1]].text
    if earlier:
        question = "\n".join([*earlier, f"Question: {question}"])
    row, extra = _with_seen_pictures(row, messages, asked_in)
    notes = [*worked, *extra]
    notes += ["thoughts beside the answer"] if last.has_thought and gold is None else []
    notes += ["system prompts"] if any(one.role == "system" and one.text for one in messages) else []
    notes += ["calls of tools and their results"] if any(one.role == "tool" for one in messages) else []
    notes += ["replies beside a right answer"] if gold is not None and last.role == "assistant" else []
    parts = row_parts(row, question, answer if boxes is None else boxes, gold or key, notes=notes)
    return parts if boxes is None else replace(parts, answer_key="objects", answer_kind="boxes")


def _last_asked(messages: Sequence[RowMessage]) -> int:
    return max((place for place, one in enumerate(messages) if one.role == "user"), default=-1)


def _with_seen_pictures(
    row: Row, messages: Sequence[RowMessage], asked_in: Collection[int]
) -> tuple[Row, tuple[str, ...]]:
    """The row with the pictures of messages that are asked, where markers say which ones those are."""
    images_key, row = with_pictures(row)
    row = with_parts_pictures(row, messages, images_key)
    images = listed(row.get(images_key), images_key)
    counts = [one.text.count(IMAGE_MARKER) for one in messages]
    if sum(counts) != len(images):
        return row, ()
    seen: list[RowValue] = []
    for one, count in zip(messages, counts):
        if id(one) in asked_in and one.role in ("user", "assistant"):
            seen += images[:count]
        images = images[count:]
    left = sum(counts) - len(seen)
    return (row_with(row, {images_key: seen}), ("pictures of tools and of replies",)) if left else (row, ())
