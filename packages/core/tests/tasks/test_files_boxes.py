"""Boxes in the answers of a whole file: their frame and the IoU from which on they are right, said once."""

import json
import logging
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.config import RecipeContext
from saccade.config.context import read_own_tasks
from saccade.config.gold_check import describe_kinds
from saccade.config.sources import inputs_of
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.types import Task

ASKED = "Where is the dot? Give its box."


def rows_file(folder: Path, *rows: dict[str, object]) -> Path:
    Image.new("RGB", (2000, 500), (9, 9, 9)).save(folder / "a.png")
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"question": ASKED, "image": "a.png", **row}) + "\n" for row in rows))
    return path


def read(path: Path, **said: object) -> list[Task]:
    return list(read_tasks(path, media=MediaStore(), **said).tasks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "gold", "pixels"),
    [
        ("pixels", [100, 100, 500, 400], "[100, 100, 500, 400]"),
        ("0-1000", [100, 100, 500, 400], "[200, 50, 1000, 200]"),
        ("0-999", [0, 0, 999, 999], "[0, 0, 2000, 500]"),
        ("0-1", [0, 0.5, 1, 1], "[0, 250, 2000, 500]"),
    ],
)
def test_the_frame_of_a_whole_file_is_that_of_its_rows(
    tmp_path: Path, frame: str, gold: list[float], pixels: str
) -> None:
    [task] = read(rows_file(tmp_path, {"answer": gold}), box_frame=frame)
    assert (task.answer_kind, task.answer) == ("boxes", pixels)


def test_numbers_inside_the_picture_are_pixels_where_nothing_is_said(tmp_path: Path) -> None:
    [task] = read(rows_file(tmp_path, {"answer": [100, 100, 500, 400]}))
    assert task.answer == "[100, 100, 500, 400]"


def test_a_row_that_names_its_frame_and_its_iou_keeps_them(tmp_path: Path) -> None:
    own = {"answer": [100, 100, 500, 400], "box_frame": "pixels", "min_iou": 0.9}
    tasks = read(rows_file(tmp_path, own, {"answer": [1, 1, 500, 400]}), box_frame="0-1000", min_iou=0.7)
    assert [task.answer for task in tasks] == ["[100, 100, 500, 400]", "[2, 0.5, 1000, 200]"]
    assert [task.min_iou for task in tasks] == [0.9, 0.7]


def test_rows_that_look_like_several_frames_are_read_in_the_one_that_is_said(tmp_path: Path) -> None:
    path = rows_file(tmp_path, {"answer": [10, 10, 90, 90]}, {"answer": [100, 100, 500, 900]})
    with pytest.raises(UserError, match="say which frame is meant with --box-frame"):
        read(path)
    assert [task.answer for task in read(path, box_frame="0-1000")] == ["[20, 5, 180, 45]", "[200, 50, 1000, 450]"]


def test_a_frame_that_does_not_fit_is_refused_with_the_row(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"row 1: answer: .*read as pixels"):
        read(rows_file(tmp_path, {"answer": [100, 100, 500, 900]}), box_frame="pixels")


@pytest.mark.parametrize("said", [{"box_frame": "0-2"}, {"min_iou": 0.0}, {"min_iou": 1.5}, {"min_iou": float("nan")}])
def test_what_is_no_frame_or_iou_is_refused(tmp_path: Path, said: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"{next(iter(said))}"):
        read(rows_file(tmp_path, {"answer": [1, 1, 5, 4]}), **said)


def test_what_was_understood_is_said_and_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = rows_file(tmp_path, {"answer": [100, 100, 500, 400]})
    context = RecipeContext(data=path, box_frame="0-1000", min_iou=0.7)
    with caplog.at_level(logging.INFO, logger="saccade"):
        tasks = read_own_tasks(path, context)
    assert f"{path}: boxes in answers of rows that name no box_frame are in 0-1000" in caplog.messages
    assert describe_kinds(tasks) == "1 rows: 1 boxes from an IoU of 0.7 on"
    inputs = inputs_of(context)
    assert (inputs["box_frame"], inputs["min_iou"]) == ("0-1000", "0.7")


def test_check_data_shows_the_boxes_as_they_are_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_file(tmp_path, {"answer": [100, 100, 500, 400]})
    assert run_command(["check-data", str(path), "--box-frame", "0-1000", "--min-iou", "0.8"]) == 0
    said = capsys.readouterr().out
    assert "-> [200, 50, 1000, 200]  [boxes]" in said
    assert "1 boxes from an IoU of 0.8 on" in said
