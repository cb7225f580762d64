"""CLEVR, Super-CLEVR and CLEVR-Math: rendered scenes of simple bodies."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from saccade.quantities import parse_integer
from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading
from saccade.tasks.rows.answers import answer_text
from saccade.tasks.rows.fields import NumberedRow, Row, RowError, RowValue, listed, optional_text, required_text, short
from saccade.tasks.rows.text_files import rows_under

SUPER_CLEVR_ENDS = (("train", 20_000), ("validation", 25_000))
"""Image numbers at which its splits end."""


def read_clevr(row: Row) -> Sequence[RowReading]:
    """``image_filename, question, answer, question_index``: a word, a count, yes or no."""
    if row.get("answer") is None:
        return [LeftOut(NO_ANSWER)]
    answer = answer_text(row["answer"], "answer")
    return [
        Problem(
            id=optional_text(row, "question_index"),
            question=required_text(row, "question"),
            answer=answer,
            kind="exact" if parse_integer(answer) is None else "integer",
            images=(row.get("image_filename"),),
            images_key="image_filename",
        )
    ]


def read_clevr_math(row: Row) -> Sequence[RowReading]:
    """``image_filename, question, answer``, or the loader's ``image, question, label``: a count."""
    answer_key = "label" if "label" in row else "answer"
    image_key = "image_filename" if row.get("image_filename") else "image"
    return [
        Problem(
            question=required_text(row, "question"),
            answer=answer_text(row.get(answer_key), answer_key),
            answer_key=answer_key,
            kind="integer",
            images=tuple(_with_extension(image) for image in listed(row.get(image_key), image_key)),
            images_key=image_key,
        )
    ]


def read_super_clevr(row: Row) -> Sequence[RowReading]:
    """As CLEVR's; yes and no are booleans."""
    answer = row.get("answer")
    return read_clevr({**row, "answer": ("yes" if answer else "no") if isinstance(answer, bool) else answer})


def super_clevr_rows(path: Path) -> Iterator[NumberedRow]:
    """Its one file's rows, each with the split that its image's number tells: 20,000 to train, twice 5,000 after."""
    for numbered in rows_under("questions")(path):
        row = numbered.row
        index = None if isinstance(row, RowError) else row.get("image_index")
        if isinstance(row, RowError):
            yield numbered
        elif isinstance(index, bool) or not isinstance(index, int):
            yield NumberedRow(numbered.number, RowError("image_index", f"must be a number, not {short(index)}"))
        else:
            part = next((name for name, end in SUPER_CLEVR_ENDS if index < end), "test")
            yield NumberedRow(numbered.number, {**row, "split": part})


def _with_extension(image: RowValue) -> RowValue:
    """The picture's file: the generator names it without its extension too."""
    return f"{image}.png" if isinstance(image, str) and not PurePath(image).suffix else image
