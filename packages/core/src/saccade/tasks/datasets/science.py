"""ScienceQA, AI2D, IconQA, VL-Thinking, TQA and ArxivQA: questions of school science, and on figures of papers."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.errors import UserError
from saccade.plain_files import plain_text
from saccade.quantities import parse_integer
from saccade.tasks.datasets.dataset import (
    NO_ANSWER,
    NO_IMAGE,
    NO_SHORT_ANSWER,
    LeftOut,
    Problem,
    RowReading,
    files_at,
    letter_of,
    without_image_marks,
)
from saccade.tasks.datasets.mathematics import MAX_ANSWER_WORDS
from saccade.tasks.rows.answers import answer_text, choice_texts
from saccade.tasks.rows.fields import (
    NumberedRow,
    Row,
    RowError,
    RowValue,
    listed,
    mapping,
    optional_text,
    required_text,
    short,
)
from saccade.tasks.rows.golds import infer_kind
from saccade.tasks.rows.text_files import ID_KEY, one_row, rows_by_id

LETTERED_IMAGES = "abc_images"
"""Folder of AI2D's diagrams whose labels are replaced by letters."""

AI2D_TEST_IDS = "ai2d_test_ids.csv"

SPLITS_KEY = "splits"

_LETTER_FIRST = re.compile(r"\s*\(?([A-Z])(?:[).:]\s*.*|\s*)", re.DOTALL)
_AT_LAST = re.compile(r".*†\s*Answer:\s*(.*)", re.DOTALL)


def read_scienceqa(row: Row) -> Sequence[RowReading]:
    """``question, choices, answer`` (the option's number from 0), ``hint``, and ``image`` (a file in the problem's own
    folder, or the picture itself on the hub)."""
    image = row.get("image")
    if not image:
        return [LeftOut(NO_IMAGE)]
    choices = choice_texts(row.get("choices"))
    question, hint, number = required_text(row, "question"), optional_text(row, "hint"), optional_text(row, "pid")
    return [
        Problem(
            id=number,
            question=f"{hint}\n{question}" if hint else question,
            answer=letter_of(row.get("answer"), choices, "answer"),
            kind="choice",
            choices=choices,
            images=(f"{required_text(row, 'split')}/{number}/{image}" if isinstance(image, str) else image,),
        )
    ]


def scienceqa_rows(path: Path) -> Iterator[NumberedRow]:
    """The problems, each with all splits that it is in: ``pid_splits.json`` beside names smaller ones too."""
    names = path.with_name("pid_splits.json")
    try:
        splits = json.loads(plain_text(names)) if names.is_file() else {}
        of_problem: dict[str, list[str]] = {}
        for split, problems in splits.items():
            for problem in problems:
                of_problem.setdefault(str(problem), []).append(split)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise UserError(f"{names}: is no list of problems by split ({error})") from error
    for numbered in rows_by_id(path):
        row = numbered.row
        if isinstance(row, RowError):
            yield numbered
        else:
            within = of_problem.get(str(row.get(ID_KEY)), [row.get("split")])
            yield NumberedRow(numbered.number, {**row, SPLITS_KEY: within})


def read_ai2d(row: Row) -> Sequence[RowReading]:
    """A diagram's file: ``imageName`` and ``questions`` by their text, each with ``answerTexts, correctAnswer,
    abcLabel, questionId``; on the hub ``question, options, answer, image``."""
    if "questions" not in row:
        choices = choice_texts(row.get("options"))
        return [
            Problem(
                question=required_text(row, "question"),
                answer=letter_of(row.get("answer"), choices, "answer"),
                kind="choice",
                choices=choices,
                images=(row.get("image"),),
            )
        ]
    name = required_text(row, "imageName")
    questions = mapping(row["questions"], "questions")
    return [
        _of_diagram(question, mapping(about, "questions"), name, has_letters=bool(row.get(LETTERED_IMAGES)))
        for question, about in questions.items()
    ]


def ai2d_files(root: Path, split: str) -> Iterator[tuple[Path, Path]]:
    """A file for each diagram. The release has no splits: a list of the diagrams of the test comes apart from it."""
    files = list(files_at(("questions/*.json", "ai2d/questions/*.json"), ("ai2d", "."))(root, split))
    if split == "all":
        yield from files
        return
    release = files[0][0].parent.parent
    lists = [place / AI2D_TEST_IDS for place in (release, release.parent, root) if (place / AI2D_TEST_IDS).is_file()]
    if not lists or split not in ("train", "test"):
        raise UserError(
            f"{root}: AI2D has the splits train, test and all. {AI2D_TEST_IDS} lists the diagrams of test; it "
            f"{'is there' if lists else 'has to lie beside the folder questions, except for the split all'}"
        )
    tested = {line.strip() for line in plain_text(lists[0], "utf-8-sig").splitlines()}
    yield from (
        (file, folder) for file, folder in files if (file.name.partition(".")[0] in tested) == (split == "test")
    )


def ai2d_rows(path: Path) -> Iterator[NumberedRow]:
    """A diagram's file, with whether the release beside it has diagrams with letters."""
    for numbered in one_row(path):
        row = numbered.row
        has_letters = (path.parent.parent / LETTERED_IMAGES).is_dir()
        yield numbered if isinstance(row, RowError) else NumberedRow(1, {LETTERED_IMAGES: has_letters, **row})


def read_iconqa(row: Row) -> Sequence[RowReading]:
    """A problem's own folder: ``question, ques_type, choices, answer`` and ``image.png``; the pictures to choose from
    follow as further images, and the options are their numbers."""
    question = required_text(row, "question")
    kind = required_text(row, "ques_type")
    if kind == "fill_in_blank":
        answer = answer_text(row.get("answer"), "answer")
        return [
            Problem(
                id=optional_text(row, "pid"),
                question=question,
                answer=answer,
                kind="exact" if parse_integer(answer) is None else "integer",
                images=("image.png",),
            )
        ]
    if kind not in ("choose_txt", "choose_img"):
        raise RowError("ques_type", f"{short(kind)} is not one of choose_txt, choose_img, fill_in_blank")
    files = tuple(listed(row.get("choices"), "choices")) if kind == "choose_img" else ()
    choices = tuple(f"image {place}" for place in range(2, len(files) + 2)) or choice_texts(row.get("choices"))
    return [
        Problem(
            id=optional_text(row, "pid"),
            question=question,
            answer=letter_of(row.get("answer"), choices, "answer"),
            kind="choice",
            choices=choices,
            images=("image.png", *files),
            images_key="choices" if files else "image",
        )
    ]


def read_thinkvl(row: Row) -> Sequence[RowReading]:
    """``id, image, question, gt``: a letter, a number or a few words; what is longer has no rule that checks it.

    The paper's ThinkVL is nowhere published under this name; this is the layout of VL-Thinking.
    """
    given = answer_text(row.get("gt"), "gt") if len(str(row.get("gt"))) <= 1000 else ""
    at_last = _AT_LAST.fullmatch(given)
    answer = (at_last[1] if at_last else given).strip()
    if not answer or len(answer.split()) > MAX_ANSWER_WORDS:
        return [LeftOut(NO_SHORT_ANSWER)]
    question = without_image_marks(required_text(row, "question"))
    return [
        Problem(
            id=optional_text(row, "id"),
            question=question,
            answer=answer,
            answer_key="gt",
            kind=infer_kind(answer, (), question),
            images=(row.get("image"),),
        )
    ]


def read_tqa(row: Row) -> Sequence[RowReading]:
    """A lesson: its ``questions.diagramQuestions`` by id, each with ``imagePath, beingAsked, answerChoices,
    correctAnswer``; its questions without a diagram are left out."""
    questions = mapping(row.get("questions"), "questions")
    of_text = mapping(questions.get("nonDiagramQuestions") or {}, "questions.nonDiagramQuestions")
    of_diagrams = mapping(questions.get("diagramQuestions") or {}, "questions.diagramQuestions")
    asked: list[RowReading] = [LeftOut(NO_IMAGE) for _ in of_text]
    for number, question in of_diagrams.items():
        asked.append(_of_lesson(number, mapping(question, "questions.diagramQuestions")))
    return asked


def _of_lesson(number: str, question: Row) -> RowReading:
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
            choices=choice_texts(given),
            images=(row.get("image"),),
        )
    ]


def _of_diagram(question: str, about: Row, name: str, *, has_letters: bool) -> RowReading:
    if about.get("abcLabel") is True and not has_letters:
        return LeftOut(f"asks about letters drawn over labels; the release has no folder {LETTERED_IMAGES}")
    choices = choice_texts(about.get("answerTexts"))
    return Problem(
        id=required_text(about, "questionId"),
        question=question,
        answer=letter_of(about.get("correctAnswer"), choices, "questions"),
        answer_key="questions",
        kind="choice",
        choices=choices,
        images=(f"{LETTERED_IMAGES if about.get('abcLabel') is True else 'images'}/{name}",),
        images_key="imageName",
    )
