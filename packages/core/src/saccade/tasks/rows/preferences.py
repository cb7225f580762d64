"""Pairs of a row: two ways in which a conversation goes on after one prompt, of which one is preferred.

====================  =================================================================================================
TRL                   ``prompt, chosen, rejected`` (text or messages, with ``images``), or ``chosen, rejected`` alone,
                      whole conversations that begin alike
LLaMA-Factory         ``conversations`` and ``chosen, rejected`` (a message each); ``instruction, input`` and two texts;
                      1.0: ``chosen_messages, rejected_messages``
ms-swift              ``messages`` and ``rejected_response`` (text) or ``rejected_messages``
RLAIF-V, MMPR         ``question, chosen, rejected`` and ``image``; RLHF-V has the three as JSON in ``text``
NeMo RL               ``prompt, chosen_response, rejected_response``
====================  =================================================================================================

What follows the prompt may have several turns, with calls, results and pictures of their own.
"""

from collections.abc import Sequence

from saccade.tasks.rows.conversations import message_key
from saccade.tasks.rows.fields import Row, RowError, RowValue, listed, literal, mapping, optional_text, row_with
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.layouts import holds_messages
from saccade.tasks.rows.messages import ROLES
from saccade.tasks.rows.spoken import conversation_of
from saccade.types import SpokenPair

_REJECTED = ("rejected", "rejected_response", "rejected_messages")
_CHOSEN = ("chosen", "chosen_response", "chosen_messages")
_ASKED = ("instruction", "input", "question", "query")
"""Keys of a question in text; ``input`` goes on from ``instruction``."""
_PARTS = {*_REJECTED, *_CHOSEN, *_ASKED, "prompt", "conversations", "messages", "completion", "text"}


def pair_of(row: Row, images: ImageReader, *, where: str, stem: str) -> tuple[SpokenPair, tuple[str, ...]]:
    """The pair of a row, and what of the row is left out; ``RowError`` says what cannot be compared.

    ``where`` names file and row in messages, ``stem`` the file.
    """
    row = _unfolded(row)
    prompt, chosen, rejected = _parts(row)
    if chosen == rejected:
        raise RowError("rejected", "is the same as what is chosen, so that there is nothing to prefer")
    read = []
    for name, completion in (("chosen", chosen), ("rejected", rejected)):
        try:
            said = row_with(row, {"prompt": prompt, "completion": completion}, without=_PARTS)
            spoken, notes = conversation_of(said, images, where=where, stem=stem)
        except RowError as error:
            raise RowError(name if error.key == "completion" else error.key, error.why) from None
        read.append(spoken)
    return SpokenPair(chosen=read[0], rejected=read[1]), notes


def _unfolded(row: Row) -> Row:
    """The row with the keys of the object that RLHF-V has under ``text``."""
    text = row.get("text")
    if any(row.get(name) is not None for name in _REJECTED) or text is None:
        return row
    try:
        folded = literal(text, "text")
    except RowError:
        return row
    return row_with(row, folded, without=("text",)) if isinstance(folded, dict) else row


def _parts(row: Row) -> tuple[RowValue, list[RowValue], list[RowValue]]:
    """Prompt and both continuations, as messages or text."""
    name = next((name for name in _REJECTED if row.get(name) is not None), "")
    if not name:
        raise RowError("", f"holds no pair (prompt, chosen and rejected; it has {', '.join(sorted(row))})")
    key = next((key for key in _CHOSEN if row.get(key) is not None), "")
    if not key:
        if name == "rejected":
            raise RowError("chosen", "is missing")
        return _beside_messages(row, name)
    chosen, rejected = (_messages(row[key], key), _messages(row[name], name))
    if _begins_with_question(chosen) or _begins_with_question(rejected):
        # Whole conversations: a prompt beside them says the same again.
        return _common_start(chosen, rejected)
    if row.get("prompt") is not None:
        return row["prompt"], chosen, rejected
    key = message_key(row)
    if row.get(key) is not None:
        return row[key], chosen, rejected
    asked = [text for text in (optional_text(row, "instruction"), optional_text(row, "input")) if text]
    if not (asked := asked or [text for text in [optional_text(row, "question", "query")] if text]):
        raise RowError("prompt", "is missing: both answers need the question that they answer")
    return "\n".join(asked), chosen, rejected


def _beside_messages(row: Row, name: str) -> tuple[RowValue, list[RowValue], list[RowValue]]:
    """ms-swift's: the conversation is what is chosen, the other its last reply or all of it."""
    key = message_key(row)
    messages = _messages(row.get(key), key)
    rejected = _messages(row[name], name)
    if _begins_with_question(rejected):
        return _common_start(messages, rejected)
    if _role(messages[-1]) != "assistant":
        raise RowError(key, f"does not end with the reply that {name} is held against")
    return messages[:-1], messages[-1:], rejected


def _common_start(chosen: list[RowValue], rejected: list[RowValue]) -> tuple[RowValue, list[RowValue], list[RowValue]]:
    count = 0
    while count < min(len(chosen), len(rejected)) and chosen[count] == rejected[count]:
        count += 1
    for one in (chosen[count:], rejected[count:]):
        if one and _role(one[0]) != "assistant":
            raise RowError(
                "rejected",
                f"parts from what is chosen in message {count + 1}, which is not the assistant's: both must answer the "
                "same prompt",
            )
    if chosen[count:] and rejected[count:]:
        return chosen[:count], chosen[count:], rejected[count:]
    if len(chosen) == len(rejected):
        raise RowError("rejected", "is the same as what is chosen, so that there is nothing to prefer")
    raise RowError("rejected", "goes on where the other ends; end both with the assistant's own words")


def _messages(value: RowValue, key: str) -> list[RowValue]:
    """Messages in a list or JSON text, a single message, or the assistant's text."""
    if isinstance(value, dict):
        return [value]
    if not holds_messages(value):
        return [{"role": "assistant", "content": value}]
    if not (found := listed(literal(value, key), key)):
        raise RowError(key, "is empty")
    return list(found)


def _begins_with_question(messages: Sequence[RowValue]) -> bool:
    return _role(messages[0]) in ("user", "system")


def _role(message: RowValue) -> str:
    fields = mapping(message, "chosen")
    named = str(fields.get("role", fields.get("from")))
    return ROLES.get(named, named)
