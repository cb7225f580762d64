"""Releases as the sets' own code and downloads lay them out, whole and broken."""

from pathlib import Path

import numpy as np
import pytest
from own_layouts import TREES, broken
from releases import DIAGRAM, picture, write

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.datasets.dataset import lettered_options
from saccade.tasks.datasets.duplicates import drop_duplicates
from saccade.tasks.datasets.reading import read_data_set
from saccade.tasks.rows.answers import choice_texts
from saccade.tasks.rows.fields import RowError


@pytest.mark.parametrize("name", TREES)
def test_a_release_is_read_as_its_own_code_lays_it_out(name: str, tmp_path: Path) -> None:
    tree = TREES[name]
    tree.write(tmp_path)
    media = MediaStore()
    found = read_data_set(tree.data_set, tmp_path, split=tree.split, media=media)
    assert {task.question: task.answer for task in found.tasks} == tree.asks
    assert (found.skipped, found.left_out) == ((), {})
    assert len({task.id for task in found.tasks}) == len(found.tasks)
    for task in found.tasks:
        assert all(image.hash in media for image in task.images)
        assert answer_is_right(task, task.answer)


@pytest.mark.parametrize("name", ["geoqa, diagrams that lie by columns", "unigeo, coloured diagrams by columns"])
def test_a_diagram_that_lies_by_columns_is_not_turned(name: str, tmp_path: Path) -> None:
    tree, media = TREES[name], MediaStore()
    tree.write(tmp_path)
    (task,) = read_data_set(tree.data_set, tmp_path, split=tree.split, media=media).tasks
    assert np.array_equal(np.asarray(media.get(task.images[0]))[:, :, 0], DIAGRAM)


def test_training_and_test_of_ai2d_have_nothing_in_common(tmp_path: Path) -> None:
    TREES["ai2d, test"].write(tmp_path)
    media = MediaStore()
    train, test = (read_data_set("ai2d", tmp_path, split=split, media=media).tasks for split in ("train", "test"))
    assert (len(train), len(test)) == (1, 1)
    assert drop_duplicates(train, test).dropped == ()
    assert len(read_data_set("ai2d", tmp_path, split="all", media=media).tasks) == 2


def test_ai2d_without_the_list_of_its_test_has_no_splits(tmp_path: Path) -> None:
    TREES["ai2d, test"].write(tmp_path)
    (tmp_path / "ai2d_test_ids.csv").unlink()
    with pytest.raises(UserError, match=r"ai2d_test_ids\.csv.*has to lie beside"):
        read_data_set("ai2d", tmp_path, split="train", media=MediaStore())
    assert len(read_data_set("ai2d", tmp_path, split="all", media=MediaStore()).tasks) == 2


def test_one_part_of_mapqa_has_the_ids_that_it_has_among_all(tmp_path: Path) -> None:
    TREES["mapqa, three parts"].write(tmp_path)
    media = MediaStore()
    everything = read_data_set("mapqa", tmp_path, split="validation", media=media).tasks
    part = read_data_set("mapqa", tmp_path / "MapQA_U", split="validation", media=media).tasks
    assert [task.id for task in part] == ["mapqa/validation/MapQA_U-5", "mapqa/validation/MapQA_U-6"]
    assert {task.id for task in part} < {task.id for task in everything}


def test_two_releases_in_a_folder_are_not_mixed(tmp_path: Path) -> None:
    for name in ("CLEVR_v1.0", "CLEVR_CoGenT_v1.0"):
        write(tmp_path, {f"{name}/questions/CLEVR_val_questions.json": {"questions": []}})
    with pytest.raises(UserError, match=r"several folders hold the split 'val' \(CLEVR_CoGenT_v1\.0, CLEVR_v1\.0\)"):
        read_data_set("clevr", tmp_path, split="validation", media=MediaStore())


def test_the_splits_of_super_clevr_are_told_by_the_numbers_of_its_pictures(tmp_path: Path) -> None:
    row = {"question": "?", "answer": True, "image_filename": "1.png", "split": "new"}
    rows = [{**row, "image_index": index, "question_index": index} for index in (19_999, 20_000, 24_999, 25_000)]
    write(tmp_path, {"superCLEVR_questions_30k.json": {"questions": rows}, "images/1.png": picture()})
    counts = [
        len(read_data_set("super-clevr", tmp_path, split=split, media=MediaStore()).tasks)
        for split in ("train", "validation", "test")
    ]
    assert counts == [1, 2, 1]


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("docvqa", r"train_v1\.0\.json.*1.*image.*none\.png"),
        ("super-clevr", r"superCLEVR_questions_30k\.json.*1.*image_index"),
        ("wemath", r"testmini\.json.*1.*option"),
        ("tqa", r"tqa_v1_train\.json.*1.*diagramQuestions"),
        ("arxivqa", r"arxivqa\.jsonl.*1.*label"),
    ],
)
def test_a_broken_row_is_named_by_file_row_and_key(name: str, where: str, tmp_path: Path) -> None:
    split, release = broken(name)
    with pytest.raises(UserError, match=rf"(?s){where}"):
        read_data_set(name, release(tmp_path), split=split, media=MediaStore())


@pytest.mark.parametrize(
    "text",
    ["(A) 25 (B) all of\nthem (C) A. B", "(A) 25\n(B) all of\nthem\n(C) A. B"],
)
def test_options_are_parted_at_the_marks_of_the_first(text: str) -> None:
    assert lettered_options(text, "option") == ("25", "all of them", "A. B")


def test_options_without_marks_are_refused() -> None:
    for text in ("25 30", "(B) 30 (C) 35", "", "(A) 25"):
        with pytest.raises(RowError):
            lettered_options(text, "option")
    assert choice_texts(["A) x", "B) y"]) == ("x", "y")
    assert choice_texts(["A) x", "y"]) == ("A) x", "y")
