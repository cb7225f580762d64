"""VizWiz, TextVQA, OK-VQA, A-OKVQA, ST-VQA, DocVQA and InfographicVQA: with every answer that counts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.errors import UserError
from saccade.tasks.datasets.dataset import NO_ANSWER, LeftOut, Problem, RowReading, letter_of
from saccade.tasks.rows.answers import answer_text, choice_texts
from saccade.tasks.rows.fields import (
    NumberedRow,
    Row,
    RowError,
    RowValue,
    as_number,
    kind_of,
    listed,
    literal,
    optional_text,
    required_text,
)
from saccade.tasks.rows.text_files import rows_under


def read_vizwiz(row: Row) -> Sequence[RowReading]:
    """``image, question, answers`` (ten objects with ``answer``, or ten texts on the hub)."""
    said = tuple(_answer_of(item) for item in listed(row.get("answers"), "answers"))
    if not said:
        return [LeftOut(NO_ANSWER)]
    image = row.get("image")
    return [
        Problem(
            id=optional_text(row, "question_id") or (image if isinstance(image, str) else None),
            question=required_text(row, "question"),
            answer=most_common(said),
            answer_key="answers",
            kind="exact",
            accepted=said,
            images=(image,),
        )
    ]


def read_textvqa(row: Row) -> Sequence[RowReading]:
    """``question_id, question, image_id, answers`` of ten people."""
    return read_vizwiz({**row, "image": f"{required_text(row, 'image_id')}.jpg"})


def okvqa_rows(path: Path) -> Iterator[NumberedRow]:
    """Of OK-VQA's two files, ``mscoco_val2014_annotations.json`` and its questions, with COCO's picture for each."""
    kind = path.name.removeprefix("mscoco_").removesuffix("_annotations.json")
    asked = path.with_name(f"OpenEnded_mscoco_{kind}_questions.json")
    if not asked.is_file():
        raise UserError(f"{asked}: the file of the questions is not there; put it beside that of the answers")
    questions: dict[float | None, RowValue] = {}
    for one in rows_under("questions")(asked):
        if not isinstance(one.row, RowError):
            questions[as_number(one.row.get("question_id"))] = one.row.get("question")
    for one in rows_under("annotations")(path):
        if isinstance(one.row, RowError):
            yield one
            continue
        question, image = questions.get(as_number(one.row.get("question_id"))), str(one.row.get("image_id"))
        yield replace(one, row={**one.row, "question": question, "image": f"COCO_{kind}_{image.zfill(12)}.jpg"})


def read_aokvqa(row: Row) -> Sequence[RowReading]:
    """``question_id, question, choices, correct_choice_idx``, and ``image_id`` of COCO or ``image`` (hub)."""
    if row.get("correct_choice_idx") is None:
        return [LeftOut(NO_ANSWER)]
    choices = choice_texts(row.get("choices"))
    return [
        Problem(
            id=required_text(row, "question_id"),
            question=required_text(row, "question"),
            answer=letter_of(row["correct_choice_idx"], choices, "correct_choice_idx"),
            answer_key="correct_choice_idx",
            kind="choice",
            choices=choices,
            images=(_coco_image(row),),
        )
    ]


def read_aokvqa_direct(row: Row) -> Sequence[RowReading]:
    """The same questions without options: ``direct_answers`` of ten people; those marked as difficult are left out,
    as in the set's own evaluation."""
    said = tuple(answer_text(item, "direct_answers") for item in _answers(row))
    if not said:
        return [LeftOut(NO_ANSWER)]
    if row.get("difficult_direct_answer") is True:
        return [LeftOut("marked as too difficult to be answered without options")]
    return [
        Problem(
            id=required_text(row, "question_id"),
            question=required_text(row, "question"),
            answer=most_common(said),
            answer_key="direct_answers",
            kind="exact",
            accepted=said,
            images=(_coco_image(row),),
        )
    ]


def most_common(said: Sequence[str]) -> str:
    """The most frequent answer; of equal ones the first."""
    return Counter(said).most_common(1)[0][0]


def _answer_of(item: RowValue) -> str:
    return answer_text(item.get("answer") if isinstance(item, Mapping) else item, "answers")


def _answers(row: Row) -> list[RowValue]:
    value = row.get("direct_answers")
    return listed(literal(value, "direct_answers") if isinstance(value, str) else value, "direct_answers")


def _coco_image(row: Row) -> RowValue:
    if row.get("image") is not None:
        return row["image"]
    number = row.get("image_id")
    if isinstance(number, bool) or not isinstance(number, int):
        raise RowError("image_id", f"must be the number of a picture of COCO, not {kind_of(number)}")
    return f"{number:012d}.jpg"


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
