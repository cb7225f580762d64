"""Kinds of files, rows of several layouts in one, frames of boxes, and exported questions read back."""

import gzip
import json
import logging
from pathlib import Path

import pytest

from published_rows import png
from saccade.cli.export_questions import export_family
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks import generate
from saccade.tasks.files import read_tasks
from saccade.types import Task

ROW = {"question": "What colour?", "answer": "red", "image": "a.png"}
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n"


def read(path: Path, text: str | bytes) -> tuple[Task, ...]:
    (path.parent / "a.png").write_bytes(png())
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_tasks(path, media=MediaStore()).tasks


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.json", json.dumps({"data": [ROW]})),
        ("rows.json", json.dumps({"version": 1, "train": [ROW], "test": [ROW, ROW]})),
        ("rows.tsv", "question\tanswer\timage\nWhat colour?\tred\ta.png\n"),
        ("rows.jsonl.gz", gzip.compress(json.dumps(ROW).encode(), mtime=0)),
        ("rows.json.gz", gzip.compress(json.dumps([ROW]).encode(), mtime=0)),
        ("rows.csv", "\ufeffquestion;answer;image\r\nWhat colour?;red;a.png\r\n".encode()),
        ("rows.csv", b",question,answer,image\n0,What colour?,red,a.png\n"),
        ("rows.csv.gz", gzip.compress(b"question,answer,image\nWhat colour?,red,a.png\n", mtime=0)),
    ],
)
def test_a_file_of_this_kind_is_read(tmp_path: Path, name: str, text: str | bytes) -> None:
    (task,) = read(tmp_path / name, text)
    assert (task.question, task.answer, task.source, len(task.images)) == ("What colour?", "red", "rows", 1)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("rows.jsonl", LFS, "rows.jsonl: is a Git LFS pointer and not the file itself; run git lfs pull"),
        ("rows.parquet", LFS, "rows.parquet: is a Git LFS pointer"),
        ("rows.jsonl.gz", gzip.compress(b"{}", mtime=0)[:9], "cannot be unpacked"),
        ("rows.jsonl.gz", "{}", "cannot be unpacked"),
        ("rows.json", json.dumps({"test": [ROW], "val": [ROW]}), "has rows under test, val; give a file with one"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, text: str | bytes, why: str) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path / name, text)
    assert why in str(caught.value)


def test_a_picture_that_is_a_git_lfs_pointer_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_text(LFS)
    with pytest.raises(UserError, match=r"image: .*b\.png: a Git LFS pointer and not the image itself"):
        read(tmp_path / "rows.json", json.dumps([ROW | {"image": "b.png"}]))


def test_what_is_left_out_is_said_once_for_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    thought = ROW | {"answer": None, "response": "<think>so</think><answer>red</answer>"}
    read(
        tmp_path / "rows.json", json.dumps([thought | {"id": "1"}, thought | {"id": "2", "objects": {"ref": []}}, ROW])
    )
    (line,) = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert line.endswith("rows.json: left out: thoughts in `response` (2 rows), `objects` (1 rows)")


def box(answer: object, **more: object) -> dict[str, object]:
    return {"question": f"Where is the dot {answer}?", "answer": answer, "image": "a.png", **more}


@pytest.mark.parametrize(
    ("row", "frame"),
    [
        (box([24, 16, 48, 40]), "pixels"),
        (box([0.25, 0.25, 0.5, 0.625]), "0-1"),
        (box([250, 250, 500, 625]), "0-1000"),
        (box([250, 250, 500, 625], box_frame="0-1000"), ""),
    ],
)
def test_the_frame_of_boxes_is_named_or_guessed_and_said(
    tmp_path: Path, row: dict[str, object], frame: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (task,) = read(tmp_path / "rows.json", json.dumps([row]))
    assert (task.answer, task.answer_kind) == ("[24, 16, 48, 40]", "boxes")
    said = f"the boxes of 1 answers are taken to be in {frame};"
    assert (said in caplog.text) if frame else "taken to be" not in caplog.text


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([box([24, 16, 48, 40]), box([250, 250, 500, 625])], "boxes look in 1 rows like pixels and 1 rows like 0-1000"),
        ([box([24, 16, 480, 4000])], "answer: the box .* lies outside the image of 96 x 64 px \\(read as pixels"),
        ([box([48, 40, 24, 16], answer_kind="boxes")], "answer: the box .* is empty or inverted"),
        ([box("left", answer_kind="boxes")], "answer: is no box; give \\[x1, y1, x2, y2\\]"),
        ([box([1, 1, 9, 9], box_frame="cm")], "box_frame: 'cm' is not one of pixels, 0-1, 0-999, 0-1000"),
        ([box([1, 1, 9, 9], image=None)], "is a box, and the row has no picture"),
        ([box([1, 1, 9, 9], min_iou=0)], "min_iou: must be a number from 0.01 to 1, not 0"),
    ],
)
def test_boxes_that_cannot_be_used_say_why(tmp_path: Path, rows: list[object], why: str) -> None:
    with pytest.raises(UserError, match=why):
        read(tmp_path / "rows.json", json.dumps(rows))


def test_four_numbers_that_are_no_box_stay_alternatives(tmp_path: Path) -> None:
    row = {"question": "Which number is missing?", "answer": [3, 4, 5, 6], "image": "a.png"}
    (task,) = read(tmp_path / "rows.json", json.dumps([row]))
    assert (task.answer_kind, task.accepted) == ("integer", ("3", "4", "5", "6"))


FORMS = ["verl", "easyr1", "trl", "dataset", "lmms-eval"]


@pytest.mark.parametrize(
    ("form", "family"),
    [("vlmevalkit", "counting"), *((form, family) for form in FORMS for family in ("counting", "spatial_relation"))],
)
def test_exported_questions_are_read_back(tmp_path: Path, form: str, family: str) -> None:
    out = tmp_path / ("out.tsv" if form == "vlmevalkit" else "out")
    export_family(family, form, out, count=3, test=2, seed=5, difficulty=0.5, licence=None, name="mine")
    place = {"vlmevalkit": out, "lmms-eval": out / "mine.parquet", "dataset": out / "data" / "train.parquet"}
    again = read_tasks(place.get(form, out / "train.parquet"), media=MediaStore()).tasks
    split = "held_out" if form in ("vlmevalkit", "lmms-eval") else "train"
    drawn = [generate(family, split=split, index=index, seed=5, media=MediaStore()).task for index in range(3)]  # type: ignore[arg-type]
    assert [content(task, form) for task in again] == [content(task, form) for task in drawn]


def content(task: Task, form: str) -> object:
    """All that the form carries."""
    shown = (task.id, task.question, task.answer, task.choices, task.images)
    if form == "vlmevalkit":
        return shown
    regions = [(one.label, one.box, one.image_index) for one in task.targets]
    graded = (task.answer_kind, task.tolerance, task.accepted, task.metric)
    return (*shown, *graded, *((regions, task.difficulty) if form == "dataset" else ()))
