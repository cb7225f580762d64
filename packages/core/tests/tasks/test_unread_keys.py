"""Keys of rows that nothing reads are named, and options under another name are suspected."""

import json
import logging
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.media.store import MediaStore
from saccade.tasks.conversations import read_conversations
from saccade.tasks.files import TaskFile, read_tasks
from saccade.tasks.rows.fields import Row, WatchedRow, row_with
from saccade.types import Json

BASE: dict[str, Json] = {"image": "a.png", "question": "Which colour?", "answer": "red"}
TALK: list[Json] = [{"role": "user", "content": "<image>Which?"}, {"role": "assistant", "content": "Red."}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    return tmp_path


def written(folder: Path, *rows: Row) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(folder: Path, *rows: Row) -> TaskFile:
    return read_tasks(written(folder, *rows), media=MediaStore())


def test_a_row_knows_what_was_read_of_it_and_of_rows_made_from_it() -> None:
    row = WatchedRow({"a": 1, "b": 2, "c": 3, "empty": "", "none": None})
    assert row["a"] == 1
    assert "b" in row
    changed = row_with(row, {"b": 4}, without=("a",))
    assert changed.get("b") == 4
    assert "a" not in changed
    assert row.unread == ("c",)
    assert row_with({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("row", "unread"),
    [
        (BASE, []),
        ({**BASE, "hint": "Look left.", "context": "It is painted.", "unused": None}, ["hint", "context"]),
        ({**BASE, "options": ["red", "blue"], "id": "7", "category": "colour", "boxes": [[0, 0, 4, 4]]}, []),
        ({"images": ["a.png"], "problem": "Which?", "solution": "<answer>red</answer>", "level": "easy"}, ["level"]),
        ({"images": ["a.png"], "messages": TALK, "source": "mine"}, ["source"]),
        (
            {
                "images": ["a.png"],
                "prompt": [{"role": "user", "content": "<image>Which?"}],
                "reward_model": {"ground_truth": "red", "style": "rule"},
                "data_source": "mine",
                "ability": "colours",
            },
            ["ability"],
        ),
    ],
)
def test_keys_that_nothing_reads_are_counted_and_told(
    row: Row, unread: list[str], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        found = read(folder, row, {**row, "id": "another"})
    assert found.unread == dict.fromkeys(unread, 2)
    told = [text for text in caplog.messages if "not read" in text]
    words = ", ".join(f"{key} (2 rows)" for key in unread)
    assert told == ([f"{folder / 'rows.jsonl'}: keys that are not read: {words}"] if unread else [])


def test_only_the_most_frequent_keys_are_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    many = {f"column_{number}": number for number in range(1, 16)}
    with caplog.at_level(logging.INFO):
        read(folder, {**BASE, **many}, {**BASE, "id": "1", "column_9": 1})
    (told,) = (text for text in caplog.messages if "not read" in text)
    assert "not read: column_9 (2 rows), column_1 (1 rows), " in told
    assert told.endswith(", column_12 (1 rows) and 3 more")


@pytest.mark.parametrize(
    "candidates", [["Red", "blue"], "['red', 'blue']", "(A) red (B) blue", "A. red\nB. blue", {"A": "red", "B": "blue"}]
)
@pytest.mark.parametrize("answer", ["B", "(A)", "red"])
def test_options_under_another_name_are_suspected(
    answer: str, candidates: Json, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read(folder, {**BASE, "answer": answer, "candidates": candidates})
    assert caplog.messages[-1] == (
        f"{folder / 'rows.jsonl'}: 1 right answers are letters or items of `candidates`, which is not read and not "
        "shown; if it holds options, rename it to `choices`"
    )


@pytest.mark.parametrize(
    "row",
    [
        {**BASE, "tags": ["colour", "square"]},
        {**BASE, "answer": "B", "note": "a letter"},
        {**BASE, "answer": "B", "choices": ["red", "blue"], "tags": ["x", "y"]},
    ],
)
def test_other_rows_are_not_suspected(row: Row, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(folder, row)
    assert not [text for text in caplog.messages if "rename" in text]


def test_conversations_and_check_data_tell_too(
    folder: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, {"images": ["a.png"], "messages": TALK, "audio": "a.wav", "system": "Be short."})
    with caplog.at_level(logging.INFO):
        read_conversations(path, media=MediaStore())
    assert f"{path}: keys that are not read: audio (1 rows)" in caplog.messages
    assert run_command(["check-data", str(written(folder, {**BASE, "hint": "x"}))]) == 0
    assert "\nkeys that are not read: hint (1 rows)\n" in capsys.readouterr().out
