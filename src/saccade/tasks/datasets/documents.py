"""DocVQA and InfographicVQA: questions on scanned pages and infographics, with every spelling that counts."""

from collections.abc import Sequence

from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading
from saccade.tasks.readers.answers import answer_text
from saccade.tasks.readers.fields import listed, required_text
from saccade.tasks.readers.rows import Row


def read_document(row: Row) -> Sequence[RowReading]:
    """``questionId, question, answers`` and ``image``, or ``image_local_name`` in InfographicVQA's own files."""
    answers = [answer_text(answer, "answers") for answer in listed(row.get("answers"), "answers")]
    if not answers:
        return [LeftOut(NO_ANSWER)]
    image_key = "image_local_name" if "image_local_name" in row else "image"
    image = row.get(image_key)
    return [
        Problem(
            id=required_text(row, "questionId"),
            question=required_text(row, "question"),
            answer=answers[0],
            answer_key="answers",
            kind="text",
            accepted=tuple(dict.fromkeys(answers)),
            # Rows say documents/<name>, the archive of the pictures has <name> alone.
            images=(image.removeprefix("documents/") if isinstance(image, str) else image,),
            images_key=image_key,
        )
    ]
