"""CLEVR and CLEVR-Math: rendered scenes of simple bodies."""

from collections.abc import Sequence

from saccade.tasks.datasets.contract import NO_ANSWER, Asked, LeftOut, Problem
from saccade.tasks.quantities import parse_integer
from saccade.tasks.readers.answers import answer_text
from saccade.tasks.readers.fields import listed, optional_text, required_text
from saccade.tasks.readers.rows import Row


def read_clevr(row: Row) -> Sequence[Asked]:
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


def read_clevr_math(row: Row) -> Sequence[Asked]:
    """``image_filename, question, answer``, or the loader's ``image, question, label``: a count."""
    answer_key = "label" if "label" in row else "answer"
    image_key = "image" if "image" in row else "image_filename"
    return [
        Problem(
            question=required_text(row, "question"),
            answer=answer_text(row.get(answer_key), answer_key),
            answer_key=answer_key,
            kind="integer",
            images=tuple(listed(row.get(image_key), image_key)),
            images_key=image_key,
        )
    ]
