"""MapQA: questions on maps of states shaded by a value."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading, without_image_marks
from saccade.tasks.datasets.json_files import plain_rows
from saccade.tasks.readers.answers import answer_text
from saccade.tasks.readers.fields import listed, mapping, optional_text, required_text
from saccade.tasks.readers.rows import NumberedRow, Row, RowError, RowValue

MAPQA_PARTS = ("MapQA_R", "MapQA_S", "MapQA_U", "MapQA_V")
"""Folders of the release: maps drawn anew (R, in the download V), with made-up data (S), and as published (U)."""

_PART = "part"


def mapqa_rows(path: Path) -> Iterator[NumberedRow]:
    """A file's rows with the part of the release that it lies in: ids are unique in a part only."""
    part = next((folder.name for folder in path.parents[:2] if folder.name in MAPQA_PARTS), None)
    for numbered in plain_rows(path):
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
        return [_of_pair(mapping(pair, "texts"), images) for pair in listed(row["texts"], "texts")]
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
            answer=_answer(row["answer"], "answer"),
            kind="exact",
            images=(image,),
            images_key=image_key,
        )
    ]


def _of_pair(pair: Row, images: tuple[RowValue, ...]) -> Problem:
    return Problem(
        question=without_image_marks(required_text(pair, "user")),
        answer=_answer(pair.get("assistant"), "texts"),
        answer_key="texts",
        kind="exact",
        images=images,
        images_key="images",
    )


def _answer(value: RowValue, key: str) -> str:
    """A list of states as one text: the metric takes them in any order."""
    return ", ".join(answer_text(item, key) for item in listed(value, key)).removesuffix(".")
