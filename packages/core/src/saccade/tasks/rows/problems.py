"""Rows that hold a question and an answer under keys of their own: plain ones, EasyR1's and Video-R1's."""

import re
from collections.abc import Mapping
from dataclasses import replace

from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    final_answer,
    is_worked,
    listed,
    optional_text,
    required_text,
    row_with,
    without_markers,
)
from saccade.tasks.rows.parts import RowParts, pictures, row_parts

TEXTUAL = "textual"
"""The protocol that asks in ``query``'s words."""

REGRESSION_TOLERANCE = 0.05
MAX_BARE_SOLUTION = 200

PLAIN_ANSWERS = (
    *("answer", "correct_answer", "gt_answer", "answerKey"),
    *("answers", "solution", "ground_truth", "response"),
)
"""Keys of the right answer; one that says so goes before those that may hold a reply."""

INDEX_KEYS = ("answer_index", "answer_idx", "correct_choice_idx")
"""Keys of the right option's place, counted from 0, or of its letter."""

_KINDS_OF_PROBLEMS = {"ocr": "text", "free-form": "text", "regression": "number"}
_LETTER = re.compile(r"\s*[(\[]?[A-Za-z][)\].:]?\s*")
_CHOICE_TYPES = frozenset(["choice", "choices", "multiplechoice", "singlechoice", "mcq", "mc", "multichoice"])


def read_plain(row: Row) -> RowParts:
    """Of several keys for an answer the first one that is there; ``answers`` beside the correct one are options."""
    row = _with_answers_as_options(row)
    key = next((key for key in (*PLAIN_ANSWERS, *INDEX_KEYS) if row.get(key) is not None), "answer")
    answer, notes = gold_of(row.get(key), key)
    if key in INDEX_KEYS and type(answer) is int and answer in range(26):
        answer = chr(ord("A") + answer)
    return row_parts(row, required_text(row, "question"), answer, key, notes=notes)


def _with_answers_as_options(row: Row) -> Row:
    """SAT's rows: ``answers`` are what may be said, and one of them is the ``correct_answer``."""
    answers, correct = row.get("answers"), row.get("correct_answer")
    if row.get("answer") is None and isinstance(answers, list | tuple) and len(answers) > 1 and correct in answers:
        return row_with(row, {"choices": answers})
    return row


def gold_of(value: RowValue, key: str) -> tuple[RowValue, tuple[str, ...]]:
    """The answer of a key that may hold a whole reply, and what is left out of it.

    ``RowError`` for a worked solution whose answer is not marked.
    """
    if not isinstance(value, str) or key not in ("solution", "response", "completion", "output"):
        return value, ()
    answer = final_answer(value, key)
    if answer == value.strip() and key == "solution" and len(answer) > MAX_BARE_SOLUTION and "\\boxed" not in answer:
        raise RowError(key, "holds no <answer>...</answer>, and is too long for an answer; put that into answer")
    return answer, (f"thoughts in `{key}`",) if is_worked(value) else ()


def read_easyr1(row: Row) -> RowParts:
    """Targets in pixels of the original; a row without any is as good."""
    key, question = asked_in(row)
    answer = row.get("answer")
    parts = row_parts(row, question, answer, "answer", question_key=key)
    return replace(
        parts,
        answer_kind=parts.answer_kind or kind_by_question_type(row.get("question_type"), answer),
        wordings=_other_wordings(row, parts),
    )


def read_video_r1(row: Row) -> RowParts:
    """Images and videos of one file; options lose their letters.

    A ``regression`` is right within five parts in a hundred: the release grades it by nearness, and has no limit.
    """
    if row.get("solution") in (None, ""):
        raise RowError("solution", "is missing or empty")
    answer, notes = gold_of(row.get("solution"), "solution")
    if row.get("data_type") == "image" and row.get("path"):
        row = row_with(row, {"images": row.get("path")})
    parts = row_parts(row, required_text(row, "problem"), answer, "solution", notes=notes)
    kind = row.get("problem_type")
    kind = kind.strip().casefold() if isinstance(kind, str) else ""
    choices = listed(parts.choices, "options")
    return replace(
        parts,
        id=parts.id or optional_text(row, "problem_id"),
        choices=[_without_letter(choice, index) for index, choice in enumerate(choices)],
        answer_kind=parts.answer_kind or _KINDS_OF_PROBLEMS.get(kind) or kind_by_question_type(kind, answer),
        tolerance=REGRESSION_TOLERANCE if kind == "regression" and parts.tolerance is None else parts.tolerance,
    )


def _without_letter(choice: RowValue, index: int) -> RowValue:
    letter = chr(ord("A") + index)
    return re.sub(rf"^\(?{letter}[.):]\s*(?=\S)", "", choice.strip()) if isinstance(choice, str) else choice


def asked_in(row: Row) -> tuple[str, str]:
    """The key that holds the question of the two-stream layouts, and its text with markers."""
    for key in ("problem", "query"):
        text = optional_text(row, key)
        if text:
            return key, text
    raise RowError("problem", "is missing or empty")


def _other_wordings(row: Row, parts: RowParts) -> Mapping[str, str]:
    """The textual wording where ``query`` differs from the question once markers are gone."""
    query = optional_text(row, "query")
    if not query:
        return {}
    shown = pictures(parts.images, parts.video)
    bare = without_markers(query, shown, "query", has_video=parts.video is not None)
    return {} if " ".join(bare.split()) == " ".join(parts.question.split()) else {TEXTUAL: bare}


def kind_by_question_type(question_type: RowValue, answer: RowValue) -> str | None:
    """``choice`` for an option's letter to a multiple-choice question; None where the answer alone decides.

    The type is a hint: a multiple choice answered in any other way than by a letter is not one for us.
    """
    if not isinstance(question_type, str) or not isinstance(answer, str):
        return None
    named = "".join(character for character in question_type.casefold() if character.isalpha())
    return "choice" if named in _CHOICE_TYPES and _LETTER.fullmatch(answer) else None
