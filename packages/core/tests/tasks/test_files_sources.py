"""Kinds of files, kinds of images, and rows that cannot be used."""

import base64
import io
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.files import BadRow, TaskRow, counted_rows, read_tasks
from saccade.tasks.rows.fields import RowError
from saccade.types import Target, Task

SIZE = (40, 20)


def picture(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", SIZE, colour).save(buffer, format="PNG")
    return buffer.getvalue()


def save_picture(path: Path, colour: str = "red") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture(colour))
    return path.name


def write_lines(path: Path, rows: Sequence[Mapping[str, object] | str]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def good(number: int = 0) -> dict[str, object]:
    return {"id": f"q{number}", "question": "Which colour?", "answer": "red", "image": "red.png"}


def only_task(path: Path | str, **options: bool) -> Task:
    (task,) = read_tasks(path, media=MediaStore(), **options).tasks
    return task


def reason(tmp_path: Path, row: Mapping[str, object] | str) -> str:
    """Why the second of two rows is refused; red.png lies beside the file."""
    save_picture(tmp_path / "red.png")
    path = write_lines(tmp_path / "rows.jsonl", [good(), row])
    (bad,) = read_tasks(path, media=MediaStore(), skip_bad_rows=True).skipped
    assert (bad.file, bad.row) == (str(path), 2)
    return f"{bad.key}: {bad.why}"


# Kinds of files


def test_jsonl_with_a_byte_order_mark_and_empty_lines(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(good(1)).encode() + b"\n\n" + json.dumps(good(2)).encode())
    assert [task.id for task in read_tasks(path, media=MediaStore()).tasks] == ["q1", "q2"]


def test_whole_task_of_a_plain_row(tmp_path: Path) -> None:
    save_picture(tmp_path / "images" / "red.png")
    row = {
        "id": 17,
        "question": "  How high? ",
        "answer": 2.5,
        "image": "images/red.png",
        "family": "heights",
        "answer_kind": "number",
        "tolerance": 0.1,
        "difficulty": 0.9,
        "boxes": [[0, 0, 10, 20], {"bbox": [5, 5, 40.5, 20], "label": "sign"}],
    }
    media = MediaStore()
    (task,) = read_tasks(write_lines(tmp_path / "rows.jsonl", [row]), media=media).tasks
    assert task == Task(
        id="17",
        family="heights",
        question="How high?",
        answer="2.5",
        answer_kind="number",
        images=(media.add_encoded(picture(), "x"),),
        tolerance=0.1,
        difficulty=0.9,
        targets=(
            Target(label="", box=Box(0, 0, 10, 20), point=Point(5, 10)),
            Target(label="sign", box=Box(5, 5, 40, 20), point=Point(22.5, 12.5)),
        ),
        source="rows",
    )


@pytest.mark.parametrize("text", ["[{}, {}]", "[\n{},\n{}\n]\n", "{}\n{}", "{} {}", " [ {} ,{}, ] trailing"])
def test_json_as_an_array_or_as_objects_in_a_row(tmp_path: Path, text: str) -> None:
    save_picture(tmp_path / "red.png")
    first, second = json.dumps(good(1), indent=1), json.dumps(good(2))
    path = tmp_path / "rows.json"
    path.write_text(text.replace("{}", first, 1).replace("{}", second))
    assert [task.id for task in read_tasks(path, media=MediaStore()).tasks] == ["q1", "q2"]


def test_json_rows_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    rows = [good(number) | {"note": "x" * (40_000 * number)} for number in range(6)]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    assert [task.id for task in read_tasks(path, media=MediaStore()).tasks] == [f"q{n}" for n in range(6)]


def test_json_that_breaks_off_gives_the_rows_before(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([good(1), good(2)])[:-20])
    result = read_tasks(path, media=MediaStore(), skip_bad_rows=True)
    assert [task.id for task in result.tasks] == ["q1"]
    assert [bad.row for bad in result.skipped] == [2]
    assert "is not JSON" in result.skipped[0].why


def test_bytes_that_are_not_utf8_are_bad_rows(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    for name in ("rows.jsonl", "rows.json", "rows.csv"):
        (tmp_path / name).write_bytes(b'{"question": "\xff"}')
        with pytest.raises(UserError, match="1 of 1 rows cannot be used"):
            read_tasks(tmp_path / name, media=MediaStore())


def test_parquet_with_bytes_paths_and_lists_of_images(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    table = pa.table(
        {
            "question": ["a?", "b?", "c?"],
            "answer": ["1", "2", "3"],
            "images": [
                [{"bytes": picture("red"), "path": None}],
                [{"bytes": None, "path": "red.png"}],
                [{"bytes": picture("red"), "path": "nowhere.png"}, {"bytes": picture("blue"), "path": None}],
            ],
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    media = MediaStore()
    red, blue = media.add_encoded(picture("red"), "x"), media.add_encoded(picture("blue"), "x")
    tasks = read_tasks(tmp_path / "rows.parquet", media=media).tasks
    assert [task.images for task in tasks] == [(red,), (red,), (red, blue)]


def test_parquet_with_raw_bytes_and_many_rows(tmp_path: Path) -> None:
    count = 150
    table = pa.table(
        {"question": [f"{n}?" for n in range(count)], "answer": ["x"] * count, "image": [picture()] * count}
    )
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=40)
    tasks = read_tasks(tmp_path / "rows.parquet", media=MediaStore()).tasks
    assert [task.question for task in tasks] == [f"{n}?" for n in range(count)]


def test_damaged_parquet_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(UserError, match=r"rows\.parquet: cannot be read as parquet"):
        read_tasks(tmp_path / "rows.parquet", media=MediaStore())


def test_folder_of_images_with_a_csv(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png", "red")
    save_picture(tmp_path / "blue.png", "blue")
    (tmp_path / "questions.csv").write_text(
        "file_name,question,answer,choices,boxes\n"
        'red.png,"Which colour, exactly?",red,,\n'
        'blue.png,Which?,B,red|blue,"[[0, 0, 5, 5]]"\n'
    )
    first, second = read_tasks(tmp_path, media=MediaStore()).tasks
    assert (first.question, first.answer, first.choices, first.targets) == ("Which colour, exactly?", "red", (), ())
    assert (second.choices, second.answer_kind, second.targets[0].box) == (("red", "blue"), "choice", Box(0, 0, 5, 5))
    assert first.family == second.family == "questions"


def test_csv_rows_are_numbered_by_line(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    (tmp_path / "q.csv").write_text("image,question,answer\nred.png,a?,1\ngone.png,b?,2\nred.png,c?,3,4\n")
    skipped = read_tasks(tmp_path / "q.csv", media=MediaStore(), skip_bad_rows=True).skipped
    assert [(bad.row, bad.key) for bad in skipped] == [(3, "image"), (4, "")]


def test_folder_of_several_files_is_read_in_order(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    (tmp_path / "dataset_info.json").write_text('{"b": {"file_name": "b.jsonl"}}')
    write_lines(tmp_path / "b.jsonl", [good(2)])
    write_lines(tmp_path / "a.jsonl", [{"id": "q1", "problem": "?", "answer": "x", "images": ["red.png"]}])
    assert [task.id for task in read_tasks(tmp_path, media=MediaStore()).tasks] == ["q1", "q2"]


def test_data_set_saved_by_hugging_face_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"question": ["a?", "b?"], "answer": ["1", "2"], "image": [{"bytes": picture(), "path": None}] * 2}
    features = datasets.Features(
        {"question": datasets.Value("string"), "answer": datasets.Value("string"), "image": datasets.Image()}
    )
    one = datasets.Dataset.from_dict(rows, features=features)
    one.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"test": one.select([1]), "train": one}).save_to_disk(tmp_path / "two")
    questions = {
        source: [task.question for task in read_tasks(source, media=MediaStore()).tasks]
        for source in (f"hf:{tmp_path}/one", f"hf:{tmp_path}/two", f"hf:{tmp_path}/two:test", str(tmp_path / "two"))
    }
    assert list(questions.values()) == [["a?", "b?"], ["a?", "b?"], ["b?"], ["a?", "b?"]]
    with pytest.raises(UserError, match="has no split 'dev'; choose one of test, train"):
        read_tasks(f"hf:{tmp_path}/two:dev", media=MediaStore())
    with pytest.raises(UserError, match="has no splits; leave out 'dev'"):
        read_tasks(f"hf:{tmp_path}/one:dev", media=MediaStore())


def test_hf_name_of_a_folder_of_files_is_that_folder(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    write_lines(tmp_path / "rows.jsonl", [good(1)])
    assert only_task(f"hf:{tmp_path}").id == "q1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.jsonl", "there is no such file"),
        ("rows.txt", r"cannot tell the kind of file; it must end in \.jsonl"),
        ("empty.jsonl", "there is not a single row"),
        ("empty.json", "there is not a single row"),
        ("folder", "the folder holds no file of tasks"),
    ],
)
def test_file_that_holds_nothing_is_a_clear_error(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "rows.txt").write_text("x")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=message):
        read_tasks(tmp_path / name, media=MediaStore())


# Kinds of images


def test_every_way_to_give_an_image_gives_the_same_reference(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    url = "data:image/png;base64," + base64.b64encode(picture()).decode()
    values = ["red.png", "./sub/../red.png", str(tmp_path / "red.png"), f"file://{tmp_path}/red.png", url]
    values += [
        {"path": "red.png"},
        {"bytes": None, "path": "red.png"},
        {"image": "red.png"},
        {"path": url},
        ["red.png"],
    ]  # type: ignore[list-item]
    rows = [good(number) | {"image": value} for number, value in enumerate(values)]
    tasks = read_tasks(write_lines(tmp_path / "rows.jsonl", rows), media=MediaStore()).tasks
    assert len({task.images for task in tasks}) == 1
    assert len(tasks) == len(values)


def test_image_root_is_where_paths_start_and_stay(tmp_path: Path) -> None:
    save_picture(tmp_path / "pictures" / "red.png")
    (tmp_path / "data").mkdir()
    path = write_lines(tmp_path / "data" / "rows.jsonl", [good(1)])
    up = write_lines(tmp_path / "data" / "up.jsonl", [good(1) | {"image": "../pictures/red.png"}])
    assert len(read_tasks(path, media=MediaStore(), image_root=tmp_path / "pictures").tasks) == 1
    with pytest.raises(UserError, match=r"image: '\.\./pictures/red\.png' leaves the folder .*; set image_root"):
        read_tasks(up, media=MediaStore())
    with pytest.raises(UserError, match="leaves the folder"):
        read_tasks(up, media=MediaStore(), image_root=tmp_path / "data")
    inside = write_lines(tmp_path / "data" / "in.jsonl", [good(1) | {"image": "data/../pictures/red.png"}])
    assert len(read_tasks(inside, media=MediaStore(), image_root=tmp_path).tasks) == 1


def test_linked_folder_of_images_is_inside(tmp_path: Path) -> None:
    save_picture(tmp_path / "far" / "red.png")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "images").symlink_to(tmp_path / "far")
    path = write_lines(tmp_path / "data" / "rows.jsonl", [good(1) | {"image": "images/red.png"}])
    assert only_task(path).id == "q1"


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("gone.png", r"image: .*gone\.png: the image file cannot be read \(No such file"),
        (3, r'image: must be a path, bytes, \{"bytes": \.\.\., "path": \.\.\.\} or a data URL, not int'),
        ({"url": "x"}, r"image: must be a path, .* not an object with the keys url"),
        (["red.png", None], r"image: must be a path, .* not nothing"),
        ("https://example.org/a.png", r"image: 'https://example\.org/a\.png' is on a network"),
        ("data:image/png;base64,@@@", r"image: the data URL is not base64"),
        ("data:text/html,hello", r"image: a data URL must begin with data:image/\.\.\.;base64"),
        ("data:image/png;base64,aGVsbG8=", r"image: not an image that can be read \(it begins with b'hello'\)"),
        ("a\x00b", r"image: 'a\\x00b' is not a path"),
        ("\ud800", r"image: .* is not a path"),
        ("x" * 5000, r"image: .*cannot be read \(File name too long\)"),
        (".", r"image: .*cannot be read \(Is a directory\)"),
        ("../../../../etc/passwd", r"image: .* leaves the folder"),
        ("/etc/hostname", r"image: /etc/hostname: not an image"),
    ],
)
def test_image_that_cannot_be_used(tmp_path: Path, image: object, message: str) -> None:
    import re

    assert re.match(message, reason(tmp_path, good(1) | {"image": image}))


def test_truncated_image_is_a_bad_row(tmp_path: Path) -> None:
    (tmp_path / "cut.png").write_bytes(picture()[:60])
    assert "is damaged" in reason(tmp_path, good(1) | {"image": "cut.png"})


# Bad rows


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", ": is not JSON ("),
        ("[1]", ": is not an object with keys but list"),
        ("NaN", ": is not JSON (NaN is not a JSON value)"),
        ("[" * 100_000, ": is not JSON ("),
        ({"question": "a?", "image": "red.png"}, "answer: there is no answer"),
        (good(1) | {"answer": None}, "answer: there is no answer"),
        (good(1) | {"answer": "  "}, "answer: there is no answer"),
        (good(1) | {"answer": []}, "answer: there is no answer"),
        (good(1) | {"answer": True}, "answer: True is a boolean; write the word"),
        (good(1) | {"answer": {"a": 1}}, "answer: must be text or a number, not dict"),
        (good(1) | {"answer": ["A", "B"], "choices": ["a", "b"]}, "answer: names several options (A, B)"),
        (good(1) | {"answer": ["a"] * 101}, "answer: there are 101 answers, more than 100"),
        (good(1) | {"frame_times_s": [1, 2]}, "frame_times_s: has 2 times for 1 images; give one for each frame"),
        (good(1) | {"frame_times": [-1]}, "frame_times: must rise from 0 s or later, frame by frame"),
        (good(1) | {"timestamps": ["x"]}, "timestamps: must hold finite numbers of seconds alone"),
        (good(1) | {"frame_times_s": 3}, "frame_times_s: must be a list of seconds, not int"),
        (good(1) | {"event_s": [1, 2]}, "event_s: an event needs the times of the frames; give frame_times_s too"),
        (good(1) | {"frame_times_s": [0], "event_s": [2, 1]}, "event_s: must be start and end in seconds, start first"),
        (good(1) | {"answer": "x" * 1001}, "answer: the answer has 1001 characters"),
        (good(1) | {"question": ""}, "question: is missing or empty"),
        (good(1) | {"question": ["a"]}, "question: must be text, not list"),
        (good(1) | {"question": "\ud800"}, "question: holds half a surrogate pair"),
        (good(1) | {"id": 1.5}, "id: must be text, not float"),
        (good(1) | {"id": "q0"}, "id: 'q0' is also the task of "),
        (good(1) | {"answer_kind": "essay"}, "answer_kind: 'essay' is not one of exact, choice, integer, number, math"),
        (good(1) | {"answer_kind": "integer"}, "answer: the answer 'red' is not a whole number"),
        (good(1) | {"answer_kind": "number"}, "answer: the answer 'red' is not a number"),
        (good(1) | {"choices": ["blue", "green"]}, "answer: the answer 'red' is neither the letter nor the text"),
        (good(1) | {"choices": ["red"]}, "choices: there must be 2 to 26 choices, not 1"),
        (good(1) | {"choices": ["red", ""]}, "choices: a choice is empty"),
        (good(1) | {"choices": ["red", ["x"]]}, "choices: must be text or a number, not list"),
        (good(1) | {"tolerance": "much"}, "tolerance: must be a number from 0 to 1, not 'much'"),
        (good(1) | {"tolerance": 5}, "tolerance: must be a number from 0 to 1, not 5"),
        (good(1) | {"tolerance": True}, "tolerance: must be a number from 0 to 1, not True"),
        (good(1) | {"difficulty": -1}, "difficulty: must be a number from 0 to 1, not -1"),
        (good(1) | {"videos": ["a.mp4"]}, "videos: a row has images, frames or a video file, and not several of them"),
        (good(1) | {"boxes": [[0, 0, 41.5, 20]]}, "boxes: the box [0.0, 0.0, 41.5, 20.0] lies outside the image"),
        (good(1) | {"boxes": [[10, 0, 5, 20]]}, "boxes: the box [10.0, 0.0, 5.0, 20.0] is empty or inverted"),
        (good(1) | {"boxes": [[1, 2, 3]]}, "boxes: a box must be four finite numbers"),
        (good(1) | {"boxes": [[1, 2, 3, "4"]]}, "boxes: a box must be four finite numbers"),
        (good(1) | {"boxes": [[1, 2, 3, 10**400]]}, "boxes: a box must be four finite numbers"),
        (good(1) | {"boxes": [[40.5, 0, 41, 5]]}, "boxes: the box [40.5, 0.0, 41.0, 5.0] lies outside"),
        (good(1) | {"boxes": {"a": 1}}, "boxes: must be a list of boxes, not dict"),
        (good(1) | {"boxes": "[[1, 2"}, "boxes: is neither JSON nor a Python literal: '[[1, 2'"),
        (good(1) | {"boxes": "__import__('os').getcwd()"}, "boxes: is neither JSON nor a Python literal"),
        (good(1) | {"boxes": "(" * 10_000}, "boxes: is neither JSON nor a Python literal"),
        (good(1) | {"boxes": [{"bbox": [0, 0, 5, 5], "image_index": 1}]}, "boxes: image_index 1 names none of"),
        (good(1) | {"boxes": [{"bbox": [0, 0, 5, 5], "label": 3}]}, "boxes: a label must be text, not int"),
    ],
)  # fmt: skip
def test_bad_row_names_its_key_and_the_reason(tmp_path: Path, row: Mapping[str, object] | str, message: str) -> None:
    assert reason(tmp_path, row).startswith(message)


def test_all_bad_rows_are_listed_before_any_work(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    rows = [good(0)] + [good(number) | {"image": f"gone{number}.png"} for number in range(1, 31)]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    with pytest.raises(UserError) as raised:
        read_tasks(path, media=MediaStore())
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{path}: 30 of 31 rows cannot be used"
    assert lines[1].startswith(f"  {path}, row 2: image: {tmp_path}/gone1.png: the image file cannot be read")
    assert lines[20].startswith(f"  {path}, row 21: ")
    assert lines[21:] == [
        "  and 10 more",
        "Fix these rows, or leave them out with --skip-bad-rows (skip_bad_rows=True).",
    ]


def test_a_reason_that_many_rows_share_is_given_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [*[{"foo": 1}] * 30, good(0) | {"image": 7}])
    with pytest.raises(UserError) as raised:
        read_tasks(path, media=MediaStore())
    head, first, second = str(raised.value).splitlines()
    assert head == f"{path}: 31 of 31 rows cannot be used"
    assert first.startswith(f"  {path}, rows 1, 2, 3, 4, 5 and 25 more: ")
    assert second.startswith(f"  {path}, row 31: image: must be")


def test_a_file_without_a_usable_row_is_not_to_be_mended_by_skipping(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{"foo": 1}] * 2)
    for skip_bad_rows in (False, True):
        with pytest.raises(UserError, match="rows 1 and 2: ") as raised:
            read_tasks(path, media=MediaStore(), skip_bad_rows=skip_bad_rows)
        assert "skip" not in str(raised.value)


def test_skipping_leaves_bad_rows_out_and_counts_them(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    path = write_lines(tmp_path / "rows.jsonl", ["{", good(1), {"foo": 1}, good(2) | {"answer": None}])
    result = read_tasks(path, media=MediaStore(), skip_bad_rows=True)
    assert [task.id for task in result.tasks] == ["q1"]
    assert [bad.row for bad in result.skipped] == [1, 3, 4]
    assert result.skipped[2] == BadRow(file=str(path), row=4, key="answer", why="there is no answer")


def test_skipping_every_row_is_still_an_error(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{"foo": 1, "bar": 2}])
    with pytest.raises(
        UserError,
        match=r"row 1: fits no layout \(plain, .*, exported\); its keys are bar, foo",
    ):
        read_tasks(path, media=MediaStore(), skip_bad_rows=True)


# Ids


def test_id_without_one_is_a_hash_of_the_content(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    save_picture(tmp_path / "copy" / "other.png")
    row = {"question": "Which colour?", "answer": "red", "image": "red.png"}
    first = only_task(write_lines(tmp_path / "a.jsonl", [row]))
    second = only_task(write_lines(tmp_path / "copy" / "b.jsonl", [row | {"image": "other.png"}]))
    third = only_task(write_lines(tmp_path / "c.jsonl", [row | {"answer": "blue"}]))
    assert first.id == second.id != third.id
    assert len(first.id) == 16


def test_rows_that_repeat_a_question_are_kept_under_numbered_ids(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = good(1)
    del row["id"]
    save_picture(tmp_path / "red.png")
    path = write_lines(tmp_path / "rows.jsonl", [row, row, row])
    with caplog.at_level(logging.WARNING):
        first, second, third = read_tasks(path, media=MediaStore()).tasks
    assert [second.id, third.id] == [f"{first.id}-2", f"{first.id}-3"]
    assert (
        caplog.records[0]
        .getMessage()
        .endswith("2 rows repeat an earlier row without an id of their own; they are kept")
    )


def test_a_list_of_answers_is_all_that_count(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    rows = [
        {"question": "Who?", "answer": ["Ada Lovelace", "Lovelace"], "image": "red.png"},
        {"question": "How many?", "answers": ["3", "three"], "image": "red.png"},
        {"question": "How many?", "answer": "3", "accepted": [4, 3.5], "image": "red.png"},
        {"question": "Which?", "answer": ["B", "a dog"], "choices": ["a cat", "a dog"], "image": "red.png"},
        {"question": "Which colour?", "answer": ["Red", "red"], "image": "red.png"},
    ]
    tasks = read_tasks(write_lines(tmp_path / "rows.jsonl", rows), media=MediaStore()).tasks
    assert [(task.answer, task.answer_kind, task.accepted) for task in tasks] == [
        ("Ada Lovelace", "exact", ("Ada Lovelace", "Lovelace")),
        ("3", "text", ("3", "three")),
        ("3", "number", ("3", "4", "3.5")),
        ("B", "choice", ("B", "a dog")),
        ("Red", "exact", ()),
    ]
    assert [answer_is_right(tasks[0], said) for said in ("lovelace", "Ada Lovelace", "Ada")] == [True, True, False]
    assert [answer_is_right(tasks[2], said) for said in ("4", "3.5", "5")] == [True, True, False]


def test_frames_of_a_video_have_their_times(tmp_path: Path) -> None:
    save_picture(tmp_path / "red.png")
    row = {
        "question": "When?",
        "answer": "2",
        "images": ["red.png"] * 3,
        "frame_times_s": "[0, 1.5, 3]",
        "event_s": [1, 2],
    }
    task = only_task(write_lines(tmp_path / "rows.jsonl", [row]))
    assert (task.frame_times_s, task.event_s) == ((0.0, 1.5, 3.0), (1.0, 2.0))


@pytest.mark.parametrize("image", ["", [], None])
def test_a_row_without_an_image_is_asked_as_text_alone(
    tmp_path: Path, image: str | list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    save_picture(tmp_path / "red.png")
    path = write_lines(tmp_path / "rows.jsonl", [good(1), good(2) | {"image": image}])
    assert [len(task.images) for task in read_tasks(path, media=MediaStore()).tasks] == [1, 0]
    assert "1 of 2 rows have no image and are asked as text alone; images are read from images, image" in caplog.text


def test_a_row_that_marks_an_image_it_lacks_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{"question": "<image> Which colour?", "answer": "red"}])
    with pytest.raises(UserError, match="images: 1 <image> markers in the text but 0 images"):
        read_tasks(path, media=MediaStore())


def test_rows_of_a_hub_name_no_path_of_this_machine(tmp_path: Path) -> None:
    private = tmp_path / "private.png"
    Image.new("RGB", (8, 8)).save(private)
    copy = tmp_path / "datasets--me--it" / "snapshots" / "0123456789abcdef"
    copy.mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(copy / "own.png")
    rows = [{"question": f"{name}?", "answer": "x", "image": name} for name in ("own.png", f"{copy}/own.png")]
    foreign = [{"question": "?", "answer": "x", "image": name} for name in (str(private), f"file://{private}")]
    (copy / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(read_tasks(copy / "rows.jsonl", media=MediaStore()).tasks) == 2
    for row in foreign:
        (copy / "rows.jsonl").write_text(json.dumps(row) + "\n")
        with pytest.raises(UserError, match="is a path of another machine"):
            read_tasks(copy / "rows.jsonl", media=MediaStore())
    (tmp_path / "rows.jsonl").write_text(json.dumps(foreign[0]) + "\n")
    assert len(read_tasks(tmp_path / "rows.jsonl", media=MediaStore()).tasks) == 1, "a file of the user's own"


@pytest.mark.parametrize("named", ["http://127.0.0.1:1/x.json", "/etc/x.json", "../x.json", ["a.json", "/x"]])
def test_a_card_names_no_data_files_outside_its_folder(tmp_path: Path, named: str | list[str]) -> None:
    (tmp_path / "rows.json").write_text('[{"question": "q", "answer": "a"}]')
    card = {"configs": [{"config_name": "default", "data_files": [{"split": "train", "path": named}]}]}
    (tmp_path / "README.md").write_text(f"---\n{json.dumps(card)}\n---\nA set.\n")
    with pytest.raises(UserError, match=r"README\.md names the data file .*, outside the folder"):
        read_tasks(f"hf:{tmp_path}:train", media=MediaStore())


def test_whoever_waits_for_many_rows_is_told_how_far_they_are(caplog: pytest.LogCaptureFixture) -> None:
    rows = [TaskRow("many.parquet", number, None, RowError("", "none")) for number in range(1, 2100)]
    with caplog.at_level(logging.INFO):
        assert list(counted_rows(iter(rows), "many.parquet", every_s=0.0)) == rows
    assert caplog.messages == ["many.parquet: 1024 rows read so far", "many.parquet: 2048 rows read so far"]
