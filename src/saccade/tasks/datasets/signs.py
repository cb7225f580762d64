"""ST-VQA: what is written on things in photographs."""

from collections.abc import Sequence

from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading
from saccade.tasks.readers.answers import answer_text
from saccade.tasks.readers.fields import listed, optional_text, required_text
from saccade.tasks.readers.rows import Row


def read_stvqa(row: Row) -> Sequence[RowReading]:
    """``question_id, question, answers, file_path``."""
    answers = [answer_text(answer, "answers") for answer in listed(row.get("answers"), "answers")]
    if not answers:
        return [LeftOut(NO_ANSWER)]
    return [
        Problem(
            id=optional_text(row, "question_id"),
            question=required_text(row, "question"),
            answer=answers[0],
            answer_key="answers",
            kind="text",
            accepted=tuple(dict.fromkeys(answers)),
            images=(row.get("file_path"),),
            images_key="file_path",
        )
    ]
