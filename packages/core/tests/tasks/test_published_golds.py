"""Golds and options in the forms in which sets are published."""

import base64
import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import TaskFile, read_tasks
from saccade.tasks.rows.fields import Row
from saccade.types import Json


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    return tmp_path


def read(folder: Path, row: Row) -> TaskFile:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return read_tasks(path, media=MediaStore())


ANNOTATED: list[Json] = ["nokia", "Nokia", "nokia", "toshiba", "lg", "samsung"]


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ({"answers": ANNOTATED}, ()),
        ({"answers": [{"answer": "nokia", "answer_id": 1}, *ANNOTATED]}, ()),
        ({"answers": [*["yes"] * 8, "no", "no"]}, ()),
        ({"answers": [*["yes"] * 4, *["no"] * 6]}, (*["yes"] * 4, *["no"] * 6)),
        ({"answers": ["a", "b", "c", "d", "a"]}, ()),
        ({"answers": ["12 May", "May 12", "12 may 1999"]}, ("12 May", "May 12", "12 may 1999")),
        ({"answers": ANNOTATED, "metric": "textvqa"}, tuple(ANNOTATED)),
    ],
)
def test_of_several_annotators_those_count_of_whom_three_agree(
    given: dict[str, Json], accepted: tuple[str, ...], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (task,) = read(folder, {"image": "a.png", "question": "Which?", **given}).tasks
    assert task.accepted == accepted
    is_told = any("left out: answers that fewer annotators gave (1 rows)" in text for text in caplog.messages)
    assert is_told == (not accepted)


def test_answers_beside_the_correct_one_are_options(folder: Path) -> None:
    """SAT's rows: before, each of the answers counted as right."""
    picture = base64.b64encode((folder / "a.png").read_bytes()).decode()
    row: dict[str, Json] = {"image_bytes": [picture, {"path": "a.png"}], "question": "Which way?"}
    (task,) = read(folder, {**row, "answers": ["left", "right"], "correct_answer": "right"}).tasks
    assert len(task.images) == 2
    assert (task.answer, task.choices, task.answer_kind, task.accepted) == ("right", ("left", "right"), "choice", ())
    (alone,) = read(folder, {"image": "a.png", "question": "Which way?", "correct_answer": "right"}).tasks
    assert (alone.answer, alone.answer_kind) == ("right", "exact")


@pytest.mark.parametrize(
    "options",
    [
        {"choices": {"A": "red", "B": "blue"}, "answer": "B"},
        {"choices": {"text": ["red", "blue"], "label": ["A", "B"]}, "answerKey": "B"},
        {"options": [{"label": "A", "text": "red"}, {"label": "B", "text": "blue"}], "answer": "B"},
        {"options": "A. red\nB. blue", "answer": "B"},
        {"options": "{'A': 'red', 'B': 'blue'}", "answer": "blue"},
        {"options": "red|blue", "answer": "blue"},
        {"a0": "red", "a1": "blue", "answer_index": 1, "answer": None},
        {"option 0": "red", "option 1": "blue", "answer": "B"},
    ],
)
def test_options_in_the_forms_of_published_sets(options: dict[str, Json], folder: Path) -> None:
    (task,) = read(folder, {"image": "a.png", "question": "Which?", **options}).tasks
    assert (task.choices, task.answer_kind, task.answer) == (("red", "blue"), "choice", task.answer)
    assert task.answer in ("B", "blue")


def test_a_number_beside_options_is_no_guess(folder: Path) -> None:
    """NExT-QA's rows."""
    with pytest.raises(UserError, match="neither the letter nor the text of a choice; its place counted from 0 goes"):
        read(folder, {"image": "a.png", "question": "Why?", "a0": "red", "a1": "blue", "answer": 1})


def test_an_object_with_an_answer_beside_its_box_is_no_box(folder: Path) -> None:
    row = {"image": "a.png", "question": "Where?", "answer": '{"answer": "3", "bbox": [1, 2, 3, 4]}'}
    (task,) = read(folder, row).tasks
    assert task.answer_kind == "exact"
    (boxed,) = read(folder, {**row, "answer": '{"label": "3", "bbox": [1, 2, 3, 4]}'}).tasks
    assert boxed.answer_kind == "boxes"


@pytest.mark.parametrize(
    ("prompt", "gold"),
    [
        ("<image>How many?", "3"),
        ([{"role": "user", "content": "<image>How many?"}], {"target": ["3"]}),
        ('[{"role": "user", "content": "<image>How many?"}]', {"target": "3"}),
    ],
)
def test_verl_s_prompts_in_text_and_targets_of_search_r1(prompt: Json, gold: Json, folder: Path) -> None:
    row = {"images": ["a.png"], "prompt": prompt, "reward_model": {"ground_truth": gold}, "data_source": "x"}
    (task,) = read(folder, row).tasks
    assert (task.question, task.answer, task.answer_kind, len(task.images)) == ("How many?", "3", "integer", 1)


def test_items_of_a_list_and_boxes_are_no_annotators_answers(folder: Path) -> None:
    asked: dict[str, Json] = {"image": "a.png", "question": "Which boxes?"}
    (task,) = read(folder, {**asked, "answers": ["1", "1", "2", "3", "4"], "answer_kind": "list"}).tasks
    assert json.loads(task.answer) == ["1", "1", "2", "3", "4"]
    boxes: list[Json] = [[1, 2, 3, 4], [2, 2, 4, 4], [1, 1, 2, 2], [0, 0, 1, 1], [0, 0, 2, 2]]
    (boxed,) = read(folder, {**asked, "answers": boxes}).tasks
    assert (boxed.answer_kind, json.loads(boxed.answer)) == ("boxes", boxes)


def test_a_key_that_says_it_is_right_goes_before_a_reply(folder: Path) -> None:
    row = {"image": "a.png", "question": "Which?", "response": "blue", "correct_answer": "red"}
    assert read(folder, row).tasks[0].answer == "red"
