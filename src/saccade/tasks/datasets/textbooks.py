"""TQA, ArxivQA and We-Math: diagrams of school books, figures of papers, and school mathematics, with options."""

import re
from collections.abc import Sequence

from saccade.tasks.datasets.dataset import NO_ANSWER, NO_IMAGE, LeftOut, Problem, RowReading, without_image_marks
from saccade.tasks.datasets.options import lettered_options, without_letters
from saccade.tasks.readers.answers import answer_text, choice_texts
from saccade.tasks.readers.fields import listed, mapping, optional_text, required_text, short
from saccade.tasks.readers.rows import Row, RowError, RowValue

_LETTER_FIRST = re.compile(r"\s*\(?([A-Z])(?:[).:]\s*.*|\s*)", re.DOTALL)


def read_tqa(row: Row) -> Sequence[RowReading]:
    """A lesson: its ``questions.diagramQuestions`` by id, each with ``imagePath, beingAsked, answerChoices,
    correctAnswer``; its questions without a diagram are left out."""
    questions = mapping(row.get("questions"), "questions")
    of_text = mapping(questions.get("nonDiagramQuestions") or {}, "questions.nonDiagramQuestions")
    of_diagrams = mapping(questions.get("diagramQuestions") or {}, "questions.diagramQuestions")
    asked: list[RowReading] = [LeftOut(NO_IMAGE) for _ in of_text]
    for number, question in of_diagrams.items():
        asked.append(_of_diagram(number, mapping(question, "questions.diagramQuestions")))
    return asked


def _of_diagram(number: str, question: Row) -> RowReading:
    key = "questions.diagramQuestions"
    if not question.get("correctAnswer"):
        return LeftOut(NO_ANSWER)
    letters = mapping(question.get("answerChoices"), f"{key}.answerChoices")
    said = [required_text(mapping(choice, key), "processedText") for choice in letters.values()]
    right = required_text(mapping(question["correctAnswer"], key), "processedText")
    if right not in letters:
        raise RowError(f"{key}.correctAnswer", f"{short(right)} is none of the options {', '.join(letters)}")
    return Problem(
        id=number,
        question=required_text(mapping(question.get("beingAsked"), key), "processedText"),
        answer=chr(ord("A") + list(letters).index(right)),
        answer_key=f"{key}.correctAnswer",
        kind="choice",
        choices=choice_texts(list[RowValue](said)),
        images=(question.get("imagePath"),),
        images_key=f"{key}.imagePath",
    )


def read_arxivqa(row: Row) -> Sequence[RowReading]:
    """``id, image, question, options, label``; the label is a letter, alone or before its option."""
    given = [answer_text(option, "options") for option in listed(row.get("options"), "options")]
    label = answer_text(row.get("label"), "label")
    letter = _LETTER_FIRST.fullmatch(label)
    return [
        Problem(
            id=optional_text(row, "id"),
            question=without_image_marks(required_text(row, "question")),
            answer=letter[1] if letter else label,
            answer_key="label",
            kind="choice",
            choices=choice_texts(list[RowValue](without_letters(given))),
            images=(row.get("image"),),
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
