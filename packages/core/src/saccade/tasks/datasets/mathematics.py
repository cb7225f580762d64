"""MATH-Vision, MathV360K, MathVista, TabMWP and We-Math: mathematics with a picture."""

import re
from collections.abc import Sequence

from saccade.quantities import parse_integer, parse_quantity
from saccade.tasks.datasets.dataset import (
    NO_ANSWER,
    NO_SHORT_ANSWER,
    LeftOut,
    Problem,
    RowReading,
    lettered_options,
    without_image_marks,
)
from saccade.tasks.rows.answers import answer_text, choice_texts
from saccade.tasks.rows.conversations import conversation
from saccade.tasks.rows.fields import Row, RowError, as_number, optional_text, required_text, short
from saccade.tasks.rows.golds import infer_kind
from saccade.types import AnswerKind

MAX_ANSWER_WORDS = 20
"""A longer answer is an explanation, which no rule checks."""

_ASKED = re.compile(r"Question:\s*(.*)", re.DOTALL)
_OPTIONS = re.compile(r"\s(?:Choices|Options):\s*")
_NAMED = re.compile(r"\(?([A-Z])[).:]\s*(.+)")
_SAID = re.compile(r"\s*(?:the\s+)?(?:correct\s+)?answer(?:\s+is)?\s*:?\s*(.*)", re.IGNORECASE | re.DOTALL)


def read_mathvision(row: Row) -> Sequence[RowReading]:
    """``id, question, options, answer`` and ``decoded_image`` (hub) or ``image`` (a path)."""
    choices = choice_texts(row.get("options"))
    answer = answer_text(row.get("answer"), "answer")
    image_key = picture_key(row)
    question = without_image_marks(required_text(row, "question"))
    return [
        Problem(
            id=optional_text(row, "id"),
            question=question,
            answer=answer,
            kind="choice" if choices else _free_kind(answer),
            choices=choices,
            images=(row.get(image_key),),
            images_key=image_key,
        )
    ]


def read_mathv360k(row: Row) -> Sequence[RowReading]:
    """``image`` and ``conversations`` of one question, with ``Choices:`` in its text, and one answer."""
    key, turns = conversation(row)
    if [role for role, _ in turns] != ["user", "assistant"]:
        return [LeftOut("a conversation of several questions")]
    question, choices = _question_and_options(turns[0][1], key)
    said = _SAID.fullmatch(turns[1][1])
    answer = " ".join((said[1] if said else turns[1][1]).split()).removesuffix(".")
    if not answer or len(answer.split()) > MAX_ANSWER_WORDS:
        return [LeftOut(NO_SHORT_ANSWER)]
    kind: AnswerKind = "choice" if choices else _free_kind(answer)
    answer = _letter(answer, choices)
    return [
        Problem(
            question=question, answer=answer, answer_key=key, kind=kind, choices=choices, images=(row.get("image"),)
        )
    ]


def read_mathvista(row: Row) -> Sequence[RowReading]:
    """``pid, question, choices, unit, precision, answer, question_type, answer_type`` and ``decoded_image`` (hub) or
    ``image`` (a path). Unit and decimals are told, for the answer depends on them."""
    if row.get("answer") in (None, ""):
        return [LeftOut(NO_ANSWER)]
    question, answer = required_text(row, "question"), answer_text(row["answer"], "answer")
    image_key = picture_key(row)
    is_choice = row.get("question_type") == "multi_choice"
    choices = choice_texts(row.get("choices")) if is_choice else ()
    kind, tolerance = _vista_answer(row, answer, is_choice=is_choice)
    notes = [f"unit: {unit}" for unit in [optional_text(row, "unit")] if unit]
    if kind == "number":
        notes.append(f"rounded to {_decimals(row)} decimals")
    return [
        Problem(
            id=optional_text(row, "pid"),
            question=f"{question} ({'; '.join(notes)})" if notes else question,
            answer=answer,
            kind=kind,
            choices=choices,
            tolerance=tolerance,
            images=(row.get(image_key),),
            images_key=image_key,
        )
    ]


def read_tabmwp(row: Row) -> Sequence[RowReading]:
    """``question, choices, answer, unit, ans_type`` of a problem by its id; the table is the picture ``<id>.png``."""
    answer = answer_text(row.get("answer"), "answer")
    choices = choice_texts(row.get("choices"))
    unit = optional_text(row, "unit")
    number = required_text(row, "pid")
    return [
        Problem(
            id=number,
            question=required_text(row, "question") + (f" (unit: {unit})" if unit else ""),
            answer=answer,
            kind="choice" if choices else _free_kind(answer),
            choices=choices,
            images=(f"{number}.png",),
            images_key="pid",
        )
    ]


def read_wemath(row: Row) -> Sequence[RowReading]:
    """``question, option`` (all options in one text), ``answer`` (a letter) and ``image_path``."""
    return [
        Problem(
            question=without_image_marks(required_text(row, "question")),
            answer=required_text(row, "answer"),
            kind="choice",
            choices=lettered_options(required_text(row, "option"), "option"),
            images=(row.get("image_path"),),
            images_key="image_path",
        )
    ]


def picture_key(row: Row) -> str:
    """Where the picture of a row of MATH-Vision or MathVista lies: itself on the hub, else its path."""
    return "decoded_image" if row.get("decoded_image") is not None else "image"


def _free_kind(answer: str) -> AnswerKind:
    """The kind of an answer without options: a letter is then a name, not an option."""
    kind = infer_kind(answer, (), "")
    return "exact" if kind in ("choice", "text") else kind


def _question_and_options(text: str, key: str) -> tuple[str, tuple[str, ...]]:
    """The question and its options, without what tells how to answer."""
    found = _ASKED.search(text)
    body = without_image_marks(found[1] if found else text)
    parts = _OPTIONS.split(body, maxsplit=1)
    if len(parts) == 1:
        return body, ()
    return parts[0].strip(), lettered_options(parts[1], key)


def _letter(answer: str, choices: Sequence[str]) -> str:
    """The letter alone of ``(B) 25``, where 25 is that option; any other answer as it is."""
    named = _NAMED.fullmatch(answer)
    place = ord(named[1]) - ord("A") if named else len(choices)
    return named[1] if named and place < len(choices) and named[2] == choices[place] else answer


def _vista_answer(row: Row, answer: str, *, is_choice: bool) -> tuple[AnswerKind, float]:
    """Kind and relative tolerance of an answer of MathVista."""
    if is_choice:
        return "choice", 0.0
    match row.get("answer_type"):
        case "integer" if parse_integer(answer) is not None:
            return "integer", 0.0
        case "float" if (quantity := parse_quantity(answer)) is not None and quantity.value:
            return "number", 0.5 * 10.0 ** -_decimals(row) / abs(quantity.value)
    return "exact", 0.0


def _decimals(row: Row) -> int:
    precision = as_number(row.get("precision"))
    if precision is None or not precision.is_integer() or not 0 <= precision <= 12:
        raise RowError("precision", f"must be the answer's decimals, not {short(row.get('precision'))}")
    return int(precision)
