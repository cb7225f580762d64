"""Geometry3K, GeoQA and UniGeo: geometry with a diagram and four options."""

from collections.abc import Sequence

from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading, letter_of, without_image_marks
from saccade.tasks.rows.answers import choice_texts
from saccade.tasks.rows.fields import Row, RowError, as_number, kind_of, listed, optional_text, required_text, short


def read_geometry3k(row: Row) -> Sequence[RowReading]:
    """A folder's ``data.json``: ``compact_text, compact_choices, answer`` (a letter); on the hub ``images, problem,
    choices, ground_truth``, or ``images, problem, answer`` without options."""
    on_hub = "problem" in row
    answer_key = "ground_truth" if on_hub and "ground_truth" in row else "answer"
    choices = choice_texts(row.get("choices") if on_hub else row.get("compact_choices", row.get("choices")))
    question = required_text(row, "problem") if on_hub else optional_text(row, "compact_text", "problem_text")
    if not question:
        raise RowError("problem_text", "is missing or empty")
    if not on_hub and not choices:
        raise RowError("choices", "is missing or empty")
    return [
        Problem(
            id=optional_text(row, "id", "pid"),
            question=without_image_marks(question),
            answer=required_text(row, answer_key),
            answer_key=answer_key,
            kind="choice" if choices else "exact",
            choices=choices,
            images=tuple(listed(row.get("images"), "images")) if on_hub else ("img_diagram.png",),
            images_key="images",
        )
    ]


def read_geoqa(row: Row) -> Sequence[RowReading]:
    """``subject`` (Chinese), ``choices``, ``label`` (the option's number from 0) and ``image``."""
    choices = choice_texts(row.get("choices"))
    return [
        Problem(
            id=optional_text(row, "id"),
            question=required_text(row, "subject"),
            answer=letter_of(row.get("label"), choices, "label"),
            answer_key="label",
            kind="choice",
            choices=choices,
            images=(row.get("image"),),
        )
    ]


def read_unigeo(row: Row) -> Sequence[RowReading]:
    """Rows of the calculation part: ``English_problem``, ``choices`` or ``choice_nums``, ``label`` and ``image``.

    The proving part has no answer that could be checked.
    """
    if "proving_sequence" in row:
        return [LeftOut("a proof, which has no answer to check")]
    if row.get("label") is None:
        return [LeftOut(NO_ANSWER)]
    choices = choice_texts(row["choices"]) if row.get("choices") else _numbers_as_options(row)
    return [
        Problem(
            id=optional_text(row, "id"),
            question=required_text(row, "English_problem"),
            answer=letter_of(row["label"], choices, "label"),
            answer_key="label",
            kind="choice",
            choices=choices,
            images=(row.get("image"),),
        )
    ]


def _numbers_as_options(row: Row) -> tuple[str, ...]:
    numbers = [as_number(value) for value in listed(row.get("choice_nums"), "choice_nums")]
    if not numbers or None in numbers:
        given = row.get("choice_nums")
        what = kind_of(given) if given is None else short(given)
        raise RowError("choice_nums", f"must be the options' numbers, not {what}")
    return tuple(f"{number:g}" for number in numbers)
