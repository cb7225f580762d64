"""A folder with files to train on and files to measure on is never read as one: which split each command takes."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.config import RecipeContext, read_own_tasks, split_held_out
from saccade.config.held_out import held_out_json
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.sources import measured_part, splits_of

Names = Mapping[str, str]
"""A letter for the rows of each file, by the file's path."""


def rows_of(letter: str, folder: Path, count: int = 4) -> list[dict[str, object]]:
    rows = []
    for number in range(count):
        name = f"{letter}{number}.png"
        Image.new("RGB", (32, 32), (ord(letter), number * 9, 0)).save(folder / name)
        rows.append({"id": f"{letter}{number}", "question": f"{letter}{number}?", "answer": "yes", "image": name})
    return rows


def write(folder: Path, files: Names) -> Path:
    for name, letter in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = rows_of(letter, path.parent)
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def letters(tasks: tuple[object, ...] | list[object]) -> str:
    return "".join(sorted({str(getattr(task, "id"))[:1] for task in tasks}))  # noqa: B009


CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: parts/a-*
  - split: test
    path: [parts/b-1.jsonl, parts/c.jsonl]
---
# A card
"""

LAYOUTS: dict[str, tuple[Names, str, str | None, str | None]] = {
    "files named train and test": ({"train.parquet": "a", "test.parquet": "b"}, "a", "b", "b"),
    "three files": ({"train.jsonl": "a", "val.jsonl": "b", "test.jsonl": "c"}, "a", "b", "c"),
    "words inside names": ({"geo_train_v2.jsonl": "a", "geo_dev.jsonl": "b"}, "a", "b", "b"),
    "shards in data": (
        {
            "data/train-00000-of-00002.parquet": "a",
            "data/train-00001-of-00002.parquet": "b",
            "data/test-00000-of-00001.parquet": "c",
        },
        "ab",
        "c",
        "c",
    ),
    "folders named by split": ({"train/metadata.jsonl": "a", "validation/metadata.jsonl": "b"}, "a", "b", "b"),
    "years": ({"train2014.jsonl": "a", "val2014.jsonl": "b"}, "a", "b", "b"),
    "no split": ({"first.jsonl": "a", "second.jsonl": "b"}, "ab", None, None),
    "a word that holds another": ({"latest.jsonl": "a", "contest.jsonl": "b", "trainer.jsonl": "c"}, "abc", None, None),
    "more to train on": ({"train.jsonl": "a", "extra.jsonl": "b"}, "ab", None, None),
    "test alone": ({"test.jsonl": "a"}, "a", None, None),
    "data without a split": ({"data/first.jsonl": "a", "data/second.jsonl": "b"}, "ab", None, None),
    "other files deeper": ({"train/rows.jsonl": "a", "test/rows.jsonl": "b", "notes/x.jsonl": "c"}, "a", "b", "b"),
    "named by their card": (
        {"parts/a-1.jsonl": "a", "parts/a-2.jsonl": "b", "parts/b-1.jsonl": "c", "parts/c.jsonl": "d"},
        "ab",
        "cd",
        "cd",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_split_is_read_for_its_purpose(tmp_path: Path, layout: str) -> None:
    files, trained, held_out, measured = LAYOUTS[layout]
    write(tmp_path, files)
    if "card" in layout:
        (tmp_path / "README.md").write_text(CARD)
    context = RecipeContext(data=tmp_path)
    tasks = read_own_tasks(tmp_path, context)
    assert letters(tasks) == trained
    training, kept = split_held_out(tasks, 0.25, context)
    if held_out is None:
        assert len(kept) == round(0.25 * len(tasks))
    else:
        assert (letters(training), letters(kept)) == (trained, held_out)
    part = measured_part(tmp_path)
    asked = read_tasks(tmp_path, media=MediaStore(), split=part).tasks
    assert letters(asked) == (measured or trained)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"questions.jsonl": "a", "test.jsonl": "b"}, r"holds test \(test\.jsonl\) beside questions\.jsonl"),
        (
            {"train.jsonl": "a", "train_test.jsonl": "b", "test.jsonl": "c"},
            r"holds test \(test\.jsonl\) beside train_test\.jsonl",
        ),
        ({"test.jsonl": "a", "val.jsonl": "b"}, "has the splits test, validation; choose one with --split NAME"),
        (
            {"data/train_a-00000-of-00001.parquet": "a", "data/train_b-00000-of-00001.parquet": "b"},
            "has several splits of train: train_a, train_b; choose one with --split NAME",
        ),
        ({"one/x.jsonl": "a", "two/y.jsonl": "b"}, "the folder holds no file of tasks"),
    ],
    ids=["beside", "two words", "nothing to train on", "two to train on", "unnamed folders"],
)
def test_what_is_ambiguous_is_refused(tmp_path: Path, files: Names, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_own_tasks(write(tmp_path, files), RecipeContext(data=tmp_path))


@pytest.mark.parametrize(
    "card",
    ["# Mine\n\n---\n- a: [\n---\n", "", "---\nlicense: mit\n---\n", "---\nconfigs: 3\n---\n", "\x00\xff"],
    ids=["markdown", "empty", "without configs", "odd configs", "binary"],
)
def test_a_readme_that_names_no_files_changes_nothing(tmp_path: Path, card: str) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    (tmp_path / "README.md").write_text(card, encoding="latin-1")
    assert list(splits_of(tmp_path)) == ["test", "train"]


@pytest.mark.parametrize("file", ["../../secret.jsonl", "/etc/passwd", "https://example.org/x.jsonl"])
def test_a_card_that_names_files_elsewhere_is_refused(tmp_path: Path, file: str) -> None:
    write(tmp_path, {"train.jsonl": "a"})
    (tmp_path / "README.md").write_text(f"---\nconfigs: {json.dumps([{'data_files': file}])}\n---\n")
    with pytest.raises(UserError, match="outside the folder; take the line out"):
        read_own_tasks(tmp_path, RecipeContext(data=tmp_path))


def test_links_that_turn_in_a_circle_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"data/train-00000-of-00001.jsonl": "a", ".cache/test.jsonl": "b"})
    (tmp_path / "data" / "loop").symlink_to(tmp_path)
    assert letters(read_own_tasks(tmp_path, RecipeContext(data=tmp_path))) == "a"


def test_several_sets_of_a_card_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"en/train.jsonl": "a", "de/train.jsonl": "b"})
    configs = [{"config_name": name, "data_files": f"{name}/*"} for name in ("en", "de")]
    (tmp_path / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n")
    with pytest.raises(UserError, match=r"README\.md names several sets \(en, de\)"):
        read_own_tasks(tmp_path, RecipeContext(data=tmp_path))


@pytest.mark.parametrize(
    ("split", "read"), [("val", "b"), ("validation", "b"), ("test", "c"), ("all", "abc"), ("train", "a")]
)
def test_a_split_is_chosen_by_name(tmp_path: Path, split: str, read: str) -> None:
    write(tmp_path, {"train.jsonl": "a", "val.jsonl": "b", "test.jsonl": "c"})
    context = RecipeContext(data=tmp_path, split=split)
    tasks = read_own_tasks(tmp_path, context)
    training, held_out = split_held_out(tasks, 0.25, context)
    assert letters([*training, *held_out]) == read


def test_a_split_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    with pytest.raises(UserError, match="has no split 'val'; choose one of test, train, or all"):
        read_own_tasks(tmp_path, RecipeContext(data=tmp_path, split="val"))
    with pytest.raises(UserError, match=r"train\.jsonl is a file, which has no splits"):
        read_tasks(tmp_path / "train.jsonl", media=MediaStore(), split="test")


def test_the_log_says_which_file_is_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    context = RecipeContext(data=tmp_path)
    with caplog.at_level(logging.INFO, logger="saccade"):
        split_held_out(read_own_tasks(tmp_path, context), 0.25, context)
    said = [one for one in caplog.messages if "parquet" in one or "(test.jsonl)" in one]
    assert said == [
        f"{tmp_path}: test (test.jsonl), train (train.jsonl); read: train",
        f"{tmp_path}: test (test.jsonl), train (train.jsonl); held out: test",
    ]


@pytest.mark.parametrize("prefix", ["", "hf:"])
def test_a_saved_dataset_holds_out_its_test(tmp_path: Path, prefix: str) -> None:
    parts = {name: rows_of(letter, tmp_path) for name, letter in (("train", "a"), ("test", "b"))}
    saved = datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in parts.items()})
    saved.save_to_disk(str(tmp_path / "saved"))
    data = Path(f"{prefix}{tmp_path / 'saved'}")
    context = RecipeContext(data=data, image_root=tmp_path)
    training, held_out = split_held_out(read_own_tasks(data, context), 0.25, context)
    assert (letters(training), letters(held_out)) == ("a", "b")
    assert list(splits_of(data)) == ["train", "test"]


def test_a_test_without_answers_is_not_measured_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    rows = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    bare = [{key: value for key, value in row.items() if key != "answer"} for row in rows]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    context = RecipeContext(data=tmp_path)
    training, held_out = split_held_out(read_own_tasks(tmp_path, context), 0.25, context)
    assert (letters(training), letters(held_out), len(held_out)) == ("a", "a", 1)
    assert "nothing of its split test can be measured on" in caplog.text
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*bare[1:], rows[0]]))
    with pytest.raises(UserError, match="3 of 4 rows cannot be used"):
        split_held_out(training, 0.25, context)


def held_out_file(folder: Path) -> tuple[Path, Path]:
    """A file to train on, and one to measure on that holds two of its rows, other ones, and ids of the first."""
    write(folder, {"mine.jsonl": "a", "theirs.jsonl": "b"})
    mine, theirs = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("mine", "theirs")
    )
    same = [{**mine[0], "id": "other"}, {**mine[1], "question": f"  {mine[1]['question'].upper()}"}]
    on_same_picture = {**mine[2], "question": "Another question?", "id": "more"}
    rows = [*theirs, *same, on_same_picture, {**theirs[0], "id": "a3", "question": "New?"}]
    (folder / "theirs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "mine.jsonl", folder / "theirs.jsonl"


def test_rows_that_stand_in_both_files_are_counted_and_not_trained_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, theirs = held_out_file(tmp_path)
    context = RecipeContext(data=mine, held_out=theirs)
    training, held_out = split_held_out(read_own_tasks(mine, context), 0.25, context)
    assert [one.id for one in training] == ["a2", "a3"]
    assert [one.id for one in held_out] == ["b0", "b1", "b2", "b3", "other", "a1", "more", "held_out-a3"]
    assert "2 of 4 questions to train on are held out too" in caplog.text
    assert "1 more show a held-out picture" in caplog.text


def test_a_held_out_file_of_the_same_rows_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"mine.jsonl": "a"})
    context = RecipeContext(data=tmp_path / "mine.jsonl", held_out=tmp_path / "mine.jsonl")
    with pytest.raises(UserError, match="all 4 questions to train on are held out too"):
        split_held_out(read_own_tasks(tmp_path / "mine.jsonl", context), 0.25, context)


def test_a_resumed_run_measures_the_rows_of_the_file_that_it_began_with(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, theirs = held_out_file(tmp_path)
    context = RecipeContext(data=mine, held_out=theirs)
    first = split_held_out(read_own_tasks(mine, context), 0.25, context)
    record = tmp_path / "held_out.json"
    record.write_text(json.dumps(held_out_json(context)))
    theirs.write_text(theirs.read_text() + json.dumps({"id": "n", "question": "N?", "answer": "1", "image": "b0.png"}))
    again = RecipeContext(data=mine, held_out=theirs, held_out_file=record)
    second = split_held_out(read_own_tasks(mine, again), 0.25, again)
    assert [[one.id for one in side] for side in second] == [[one.id for one in side] for side in first]
    assert "1 of 8 held-out questions are new since the run began, and not measured" in caplog.text


def test_a_run_of_an_earlier_version_on_a_folder_of_splits_goes_on_with_all_its_files(tmp_path: Path) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    context = RecipeContext(data=tmp_path, held_out_file=tmp_path / "held_out.json")
    training, held_out = split_held_out(read_own_tasks(tmp_path, context), 0.25, context)
    assert letters([*training, *held_out]) == "ab"


def test_the_commands_tell_splits_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"train.jsonl": "a", "test.jsonl": "b"})
    assert run_command(["check-data", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"{tmp_path}: test (test.jsonl), train (train.jsonl)" in said
    assert "test: 4 rows: 4 exact" in said
    assert "train: 4 rows: 4 exact" in said
    assert run_command(["check-data", str(tmp_path), "--split", "test", "-n", "9"]) == 0
    said = capsys.readouterr().out
    assert "b0 (1 picture)" in said
    assert "a0" not in said
