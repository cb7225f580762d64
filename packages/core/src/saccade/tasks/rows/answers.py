"""The answer of a row: its text, its options, and how it will be compared."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from saccade.quantities import parse_integer, parse_quantity
from saccade.tasks.rows.fields import RowError, RowValue, is_encodable, kind_of, listed, literal, short
from saccade.tasks.rows.golds import infer_kind, unwrapped
from saccade.types import AnswerKind

MAX_ANSWER_CHARACTERS = 1000
MAX_CHOICES = 26
MAX_ACCEPTED = 100
ANNOTATORS = 5
"""Answers of several annotators are so many or more, and some of them are the same."""
AGREEING = 3
"""Annotators whose answer has a VQA accuracy of 1."""
_OWN_LETTER = re.compile(r"\s*\(?([A-Za-z])[.):]\s*(?=\S)")

ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")


def answer_text(value: RowValue, key: str) -> str:
    """The answer as text, without its wrapping; a list must hold one answer, perhaps repeated."""
    texts = [unwrapped(_as_text(item, key)) for item in listed(value, key)]
    texts = [text for text in texts if text]
    if not texts:
        raise RowError(key, "there is no answer")
    if len({text.casefold() for text in texts}) > 1:
        raise RowError(key, f"there are {len(texts)} different answers; a task has one")
    if len(texts[0]) > MAX_ANSWER_CHARACTERS:
        raise RowError(key, f"the answer has {len(texts[0])} characters, more than {MAX_ANSWER_CHARACTERS}")
    return texts[0]


def accepted_texts(value: RowValue, key: str, further: RowValue = None) -> tuple[str, ...]:
    """Every answer that counts, the first one first: of a list, its items, repeats included, and ``further`` ones."""
    texts = [
        text
        for source, items in ((key, value), ("accepted", further))
        for item in _items(items, source)
        if (text := unwrapped(_as_text(item, source)))
    ]
    if len(texts) > MAX_ACCEPTED:
        raise RowError(key, f"there are {len(texts)} answers, more than {MAX_ACCEPTED}")
    for text in texts:
        answer_text(text, key)
    return tuple(texts)


def agreed_answers(value: RowValue, key: str) -> RowValue:
    """Of the answers of several annotators those that three gave, else the most frequent ones; else the value.

    As many as count in full by VQA accuracy (Antol et al. 2015), min(n / 3, 1).
    """
    items = _items(value, key) if isinstance(value, list | tuple | str) else []
    if any(isinstance(item, list | tuple | Mapping) for item in items):
        return value
    texts = [unwrapped(_as_text(item, key)).casefold() for item in items]
    votes = Counter(texts)
    if len(texts) < ANNOTATORS or len(votes) in (1, len(texts)):
        return value
    least = min(AGREEING, max(votes.values()))
    return [item for item, text in zip(items, texts) if votes[text] >= least]


def _items(value: RowValue, key: str) -> list[RowValue]:
    """The items of a list, also of one of texts that is written as text; of objects of annotators their answers."""
    if isinstance(value, str) and value.lstrip().startswith(("['", '["')):
        try:
            found = literal(value, key)
        except RowError:
            found = value
        value = found if isinstance(found, list) and all(isinstance(one, str) for one in found) else value
    return [one["answer"] if isinstance(one, dict) and "answer" in one else one for one in listed(value, key)]


def golds_of(
    value: RowValue, further: RowValue, given: str | None, choices: tuple[str, ...], question: str, *, key: str
) -> tuple[AnswerKind, tuple[str, ...]]:
    """The kind of a row's answer, and every answer that counts.

    Of kind ``list`` the items of the row's list are one answer, all of which must be said, and of kind ``click`` its
    numbers are a point or a box; else any item counts.
    """
    if given == "list":
        items = [unwrapped(_as_text(item, key)) for item in _items(value, key)]
        text = items[0] if len(items) == 1 else json.dumps(items, ensure_ascii=False)
        return "list", (answer_text(text, key), *accepted_texts(None, key, further))
    if given == "click" and isinstance(value, list):
        value = json.dumps(value)  # a point or a box, not several answers
    accepted = accepted_texts(value, key, further)
    if not accepted:
        raise RowError(key, "there is no answer")
    return kind_of_all(given, accepted, choices, question, key), accepted


def kind_of_all(
    given: str | None, accepted: Sequence[str], choices: tuple[str, ...], question: str, key: str
) -> AnswerKind:
    """The kind of several answers that count: the one that the row gives, or that all have.

    Numbers of several kinds are ``number`` or ``math``, texts of several ``sentence``, texts and numbers ``text``.
    """
    kinds = {answer_kind(given, answer, choices, question, key) for answer in accepted}
    if "choice" in kinds and len({_option_of(answer, choices) for answer in accepted}) > 1:
        raise RowError(key, f"names several options ({', '.join(accepted[:4])}); such a question has one answer")
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {"integer", "number", "math"}:
        return "math" if "math" in kinds else "number"
    return "sentence" if kinds <= {"exact", "text", "sentence"} and "sentence" in kinds else "text"


def choice_texts(value: RowValue) -> tuple[str, ...]:
    """The options: a list of texts or of objects with a text, an object with a letter for each or with lists of texts
    and letters, or text: a JSON or Python list of these, lines that begin with letters, or options between ``|``."""
    if isinstance(value, str) and not value.strip().startswith(("[", "{")):
        mark = "\n" if "|" not in value and _OWN_LETTER.match(value) else "|"
        items: list[RowValue] = [item.strip() for item in value.strip().split(mark)] if value.strip() else []
    else:
        items = _items_of_options(literal(value, "choices"))
    while items and _is_padding(items[-1]):
        items.pop()
    texts = _without_letters([_as_text(item, "choices") for item in items])
    if texts and not 2 <= len(texts) <= MAX_CHOICES:
        raise RowError("choices", f"there must be 2 to {MAX_CHOICES} choices, not {len(texts)}")
    if not all(texts):
        raise RowError("choices", "a choice is empty")
    return texts


def _items_of_options(value: RowValue) -> list[RowValue]:
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), list | tuple):
            return listed(value["text"], "choices")
        if [*value] == [chr(ord("A") + place) for place in range(len(value))]:
            return [*value.values()]
    items = listed(value, "choices")
    return [one["text"] if isinstance(one, Mapping) and isinstance(one.get("text"), str) else one for one in items]


def _is_padding(item: RowValue) -> bool:
    """Whether it fills a table where a question has fewer options than others."""
    is_nan = isinstance(item, float) and math.isnan(item)
    return item is None or is_nan or (isinstance(item, str) and item.strip().casefold() in ("nan", "none"))


def _without_letters(texts: list[str]) -> tuple[str, ...]:
    """The options without letters of their own, where each has its own: ``A. red``, ``(B) blue``."""
    own = [_OWN_LETTER.match(text) for text in texts]
    letters = [match[1].upper() for match in own if match]
    if len(texts) > 1 and letters == [chr(ord("A") + place) for place in range(len(texts))]:
        return tuple(text[match.end() :] for text, match in zip(texts, own) if match)
    return tuple(texts)


def answer_kind(given: str | None, answer: str, choices: tuple[str, ...], question: str, key: str) -> AnswerKind:
    """The kind that the row gives, checked against the answer, or else the inferred kind."""
    if given is None:
        kind = infer_kind(answer, choices, question)
    elif given in ANSWER_KINDS:
        kind = given
    else:
        raise RowError("answer_kind", f"{short(given)} is not one of {', '.join(ANSWER_KINDS)}")
    if kind == "integer" and parse_integer(answer) is None:
        raise RowError(key, f"the answer {short(answer)} is not a whole number")
    if kind == "number" and parse_quantity(answer) is None:
        raise RowError(key, f"the answer {short(answer)} is not a number")
    if kind == "choice" and choices and _option_of(answer, choices) not in range(len(choices)):
        index = "; its place counted from 0 goes under `answer_index`" if parse_integer(answer) is not None else ""
        raise RowError(key, f"the answer {short(answer)} is neither the letter nor the text of a choice{index}")
    return kind


def _option_of(answer: str, choices: tuple[str, ...]) -> int | str:
    """Index of the option that the letter or the text names; what names none of them stays text."""
    letter = _LETTER.fullmatch(answer)
    if letter and (not choices or ord(letter[1].upper()) - ord("A") < len(choices)):
        return ord(letter[1].upper()) - ord("A")
    texts = [choice.casefold() for choice in choices]
    marked = _OWN_LETTER.match(answer)
    place = ord(marked[1].upper()) - ord("A") if marked else len(texts)
    if marked and place < len(texts) and answer[marked.end() :].casefold() == texts[place]:
        return place
    return texts.index(answer.casefold()) if answer.casefold() in texts else answer.casefold()


def _as_text(value: RowValue, key: str) -> str:
    match value:
        case None:
            return ""
        case str() if is_encodable(value):
            return " ".join(value.split())
        case bool():
            raise RowError(key, f"{value} is a boolean; write the word that is meant, such as yes or no")
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    raise RowError(key, f"must be text or a number, not {kind_of(value)}")
