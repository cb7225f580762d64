"""The example questions about real pictures, read as a user reads them."""

import shutil
import subprocess
import sys

import pytest

from places import ROOT
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.files import read_tasks
from saccade.types import Task

PHOTOS = ROOT / "examples" / "photos"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, ...]:
    pytest.importorskip("skimage")
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("photos")
    command = [sys.executable, str(PHOTOS / "make_photos.py"), "--out", str(folder / "images")]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copy(PHOTOS / "questions.jsonl", folder)
    return read_tasks(folder / "questions.jsonl", media=MediaStore()).tasks


def test_there_are_enough_questions_about_enough_pictures(tasks: tuple[Task, ...]) -> None:
    pictures = {image.hash for task in tasks for image in task.images}
    assert (len(tasks), len(pictures)) == (97, 22)
    assert {task.answer_kind for task in tasks} == {"exact", "choice", "integer", "number", "text"}
    assert {task.family for task in tasks} == {"colour", "count", "direction", "number", "object", "position", "text"}


def test_every_answer_is_right_by_its_own_rule_and_others_answers_are_not(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        assert answer_is_right(task, task.answer)
        assert not answer_is_right(task, "something else")


def test_every_choice_can_be_given_by_text_and_by_letter_where_letters_are_shown(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        letters = [chr(ord("A") + index) for index in range(len(task.choices))]
        right = [answer_is_right(task, choice) for choice in task.choices]
        shown = task.lists_options(task.question)
        assert [answer_is_right(task, letter) for letter in letters] == [shown and one for one in right]
        assert sum(right) == (1 if task.choices else 0)


def test_boxes_are_smaller_than_their_picture(tasks: tuple[Task, ...]) -> None:
    boxed = [task for task in tasks if task.targets]
    for task in boxed:
        image = task.images[0]
        assert all(target.box.area < 0.75 * image.width * image.height for target in task.targets)
    assert len(boxed) > 60
