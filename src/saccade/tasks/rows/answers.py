"""The answer of a row: its text, its options, and how it will be compared."""

import math
import re
from collections.abc import Sequence
from typing import get_args

from saccade.quantities import parse_integer, parse_quantity
from saccade.tasks.rows.fields import RowError, RowValue, is_encodable, kind_of, listed, literal, short
from saccade.types import AnswerKind

MAX_ANSWER_CHARACTERS = 1000
MAX_CHOICES = 26
MAX_ACCEPTED = 100
MAX_EXACT_WORDS = 3

ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4})")
_CODE = re.compile(r"0[0-9]+|[0-9]{16,}")
_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
_OPTION_MARK = re.compile(r"(?:^|[\s(\[])([A-H])[.):\]]")


def answer_text(value: RowValue, key: str) -> str:
    """The answer as text; a list must hold one answer, perhaps repeated."""
    texts = [_as_text(item, key) for item in listed(value, key)]
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
        for item in listed(items, source)
        if (text := _as_text(item, source))
    ]
    if len(texts) > MAX_ACCEPTED:
        raise RowError(key, f"there are {len(texts)} answers, more than {MAX_ACCEPTED}")
    for text in texts:
        answer_text(text, key)
    return tuple(texts)


def kind_of_all(
    given: str | None, accepted: Sequence[str], choices: tuple[str, ...], question: str, key: str
) -> AnswerKind:
    """The kind of several answers that count: the one that the row gives, or that all have, or else ``text``.

    Words of one to three and longer ones are both ``text`` together, as are words and numbers.
    """
    kinds = {answer_kind(given, answer, choices, question, key) for answer in accepted}
    if "choice" in kinds and len({_option_of(answer, choices) for answer in accepted}) > 1:
        raise RowError(key, f"names several options ({', '.join(accepted[:4])}); such a question has one answer")
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"integer", "number"} else "text"


def choice_texts(value: RowValue) -> tuple[str, ...]:
    """The options: a list, or text that holds a JSON list, a Python list or options between ``|``."""
    if isinstance(value, str) and not value.strip().startswith("["):
        items: list[RowValue] = [item.strip() for item in value.split("|")] if value.strip() else []
    else:
        items = listed(literal(value, "choices"), "choices")
    texts = tuple(_as_text(item, "choices") for item in items)
    if texts and not 2 <= len(texts) <= MAX_CHOICES:
        raise RowError("choices", f"there must be 2 to {MAX_CHOICES} choices, not {len(texts)}")
    if not all(texts):
        raise RowError("choices", "a choice is empty")
    return texts


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
    if kind == "choice" and choices and not _names_a_choice(answer, choices):
        raise RowError(key, f"the answer {short(answer)} is neither the letter nor the text of a choice")
    return kind


def infer_kind(answer: str, choices: tuple[str, ...], question: str) -> AnswerKind:
    """How to compare an answer that comes without a kind; the first rule that fits.

    1. Choices are given, or the answer is a letter that the question marks as an option (``A. ... B. ...``): choice.
    2. A whole number: integer. But digits with a leading zero or more than 15 of them are a code: exact.
    3. A number with decimals, percent sign, currency or unit: number.
    4. One word, or two or three without digits: exact. Anything longer: text.
    """
    if choices:
        return "choice"
    letter = _LETTER.fullmatch(answer)
    marked = set(_OPTION_MARK.findall(question))
    if letter and {"A", "B", letter[1].upper()} <= marked:
        return "choice"
    if _WHOLE.fullmatch(answer):
        return "integer"
    if _CODE.fullmatch(answer):
        return "exact"
    if parse_quantity(answer) is not None:
        return "number"
    words = answer.split()
    has_digits = any(character.isdigit() for character in answer)
    return "exact" if len(words) == 1 or (len(words) <= MAX_EXACT_WORDS and not has_digits) else "text"


def _names_a_choice(answer: str, choices: tuple[str, ...]) -> bool:
    return _option_of(answer, choices) in range(len(choices))


def _option_of(answer: str, choices: tuple[str, ...]) -> int | str:
    """Index of the option that the letter or the text names; what names none of them stays text."""
    letter = _LETTER.fullmatch(answer)
    if letter and (not choices or ord(letter[1].upper()) - ord("A") < len(choices)):
        return ord(letter[1].upper()) - ord("A")
    texts = [choice.casefold() for choice in choices]
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
