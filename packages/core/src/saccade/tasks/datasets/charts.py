"""ChartQA, FigureQA, PlotQA, DVQA and MapQA: questions on drawn charts and on maps that are shaded by a value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.quantities import parse_quantity
from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading, without_image_marks
from saccade.tasks.rows.answers import answer_text
from saccade.tasks.rows.fields import (
    NumberedRow,
    Row,
    RowError,
    RowValue,
    as_number,
    listed,
    mapping,
    optional_text,
    required_text,
    short,
)
from saccade.tasks.rows.text_files import open_text_rows
from saccade.types import AnswerKind

TOLERANCE = 0.05
"""Relative tolerance of numbers read off a chart."""

MAPQA_PARTS = ("MapQA_R", "MapQA_S", "MapQA_U", "MapQA_V")
"""Folders of the release: maps drawn anew (R, in the download V), with made-up data (S), and as published (U)."""

_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_PART = "part"


def read_chartqa(row: Row) -> Sequence[RowReading]:
    """``imgname, query, label``; on the hub ``image, query, label`` or ``image, question, answer``."""
    question_key, key = ("question", "answer") if "question" in row else ("query", "label")
    question, answer = required_text(row, question_key), answer_text(row.get(key), key)
    image_key = "image" if "image" in row else "imgname"
    kind, tolerance = _chart_answer(answer)
    return [
        Problem(
            question=question,
            answer=answer,
            answer_key=key,
            kind=kind,
            tolerance=tolerance,
            images=(row.get(image_key),),
            images_key=image_key,
        )
    ]


def read_figureqa(row: Row) -> Sequence[RowReading]:
    """``question_string, answer`` (1 is yes, 0 no), ``image_index``."""
    if row.get("answer") is None:
        return [LeftOut(NO_ANSWER)]
    words = {0: "no", 1: "yes"}
    answer = row["answer"]
    if isinstance(answer, bool) or not isinstance(answer, int) or answer not in words:
        raise RowError("answer", f"must be 0 or 1, not {short(answer)}")
    return [
        Problem(
            question=required_text(row, "question_string"),
            answer=words[answer],
            kind="exact",
            images=(_numbered_image(row),),
            images_key="image_index",
        )
    ]


def read_plotqa(row: Row) -> Sequence[RowReading]:
    """``question_string, answer, image_index``; a box ``answer_bbox`` of ``x, y, w, h`` is the target."""
    if row.get("answer") is None:
        return [LeftOut(NO_ANSWER)]
    answer = answer_text(row["answer"], "answer")
    kind, tolerance = _chart_answer(answer)
    return [
        Problem(
            question=required_text(row, "question_string"),
            answer=answer,
            kind=kind,
            tolerance=tolerance,
            images=(_numbered_image(row),),
            images_key="image_index",
            boxes=_corners(row.get("answer_bbox")),
            boxes_key="answer_bbox",
        )
    ]


def read_dvqa(row: Row) -> Sequence[RowReading]:
    """``image, question, answer, question_id``; a box ``bbox_answer`` of ``[x, y, w, h]`` is the target."""
    box = listed(row.get("bbox_answer"), "bbox_answer")
    return [
        Problem(
            id=required_text(row, "question_id"),
            question=required_text(row, "question"),
            answer=answer_text(row.get("answer"), "answer"),
            kind="exact",
            images=(row.get("image"),),
            boxes=_corners(dict(zip("xywh", box, strict=True))) if len(box) == 4 else None,
            boxes_key="bbox_answer",
        )
    ]


def _chart_answer(answer: str) -> tuple[AnswerKind, float]:
    """The kind of a chart's answer and its tolerance: a year is exact, any other number within 5 %."""
    if _YEAR.fullmatch(answer):
        return "integer", 0.0
    return ("exact", 0.0) if parse_quantity(answer) is None else ("number", TOLERANCE)


def with_relaxed_years(problem: Problem) -> Problem:
    """The problem with a year counted as the public scripts count it: as any other number, within 5 %."""
    is_year = problem.kind == "integer" and _YEAR.fullmatch(problem.answer) is not None
    return replace(problem, kind="number", tolerance=TOLERANCE) if is_year else problem


def _numbered_image(row: Row) -> str:
    index = row.get("image_index")
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise RowError("image_index", f"must be the number of an image, not {short(index)}")
    return f"{index}.png"


def _corners(box: RowValue) -> RowValue:
    """``[x1, y1, x2, y2]`` of a box given by its corner and its size; None where there is none."""
    if not isinstance(box, Mapping):
        return None
    sides = [as_number(box.get(name)) for name in ("x", "y", "w", "h")]
    known = [side for side in sides if side is not None]
    if len(known) != 4:
        return None
    x, y, width, height = known
    return [[x, y, x + width, y + height]]


def mapqa_rows(path: Path) -> Iterator[NumberedRow]:
    """A file's rows with the part of the release that it lies in: ids are unique in a part only."""
    part = next((folder.name for folder in path.parents[:2] if folder.name in MAPQA_PARTS), None)
    for numbered in open_text_rows(path):
        row = numbered.row
        if part is None or isinstance(row, RowError):
            yield numbered
        else:
            yield NumberedRow(numbered.number, {**row, _PART: part})


def read_mapqa(row: Row) -> Sequence[RowReading]:
    """A question with ``question_text`` (or ``question``), ``answer`` and ``map_id`` (or ``image``); or the Cauldron's
    rows: ``images`` and several ``texts`` of ``user, assistant``."""
    if "texts" in row:
        images = tuple(listed(row.get("images"), "images"))
        return [_of_texts(mapping(pair, "texts"), images) for pair in listed(row["texts"], "texts")]
    if row.get("answer") in (None, "", []):
        return [LeftOut(NO_ANSWER)]
    question = optional_text(row, "question_text", "question")
    if not question:
        raise RowError("question_text", "is missing or empty")
    image_key = "image" if row.get("image") else "map_id"
    image: RowValue = row.get("image") or f"{required_text(row, 'map_id').removesuffix('.png')}.png"
    number, part = optional_text(row, "question_id"), optional_text(row, _PART)
    return [
        Problem(
            id=f"{part}-{number}" if number and part else number,
            question=question,
            answer=_states(row["answer"], "answer"),
            kind="exact",
            images=(image,),
            images_key=image_key,
        )
    ]


def _of_texts(pair: Row, images: tuple[RowValue, ...]) -> Problem:
    return Problem(
        question=without_image_marks(required_text(pair, "user")),
        answer=_states(pair.get("assistant"), "texts"),
        answer_key="texts",
        kind="exact",
        images=images,
        images_key="images",
    )


def _states(value: RowValue, key: str) -> str:
    """A list of states as one text: the metric takes them in any order."""
    return ", ".join(answer_text(item, key) for item in listed(value, key)).removesuffix(".")
