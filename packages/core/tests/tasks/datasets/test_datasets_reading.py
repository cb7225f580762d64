"""Broken rows, draws, parquet and the hub, and files that want more than to be read."""

import contextlib
import json
import pickle
from pathlib import Path

import datasets
import numpy as np
import pytest
from releases import RELEASES, aokvqa, chartqa, hub_image, parquet, picture, scienceqa, vizwiz, write

from saccade.errors import UserError
from saccade.evaluation.benchmarks import open_benchmark
from saccade.media.store import MediaStore
from saccade.tasks.datasets.pickles import pickled_rows
from saccade.tasks.datasets.reading import DataSetTasks, read_data_set
from saccade.tasks.datasets.table import DATA_SETS
from saccade.tasks.files import BadRow
from saccade.tasks.rows.fields import RowError
from saccade.tasks.rows.text_files import READ_CHARACTERS, rows_by_id, rows_under


def read(name: str, where: Path | str, split: str = "train", **options) -> DataSetTasks:
    return read_data_set(name, where, split=split, media=MediaStore(), **options)


def only_bad(name: str, where: Path, split: str = "train") -> BadRow:
    (bad,) = read(name, where, split, skip_bad_rows=True).skipped
    return bad


# Broken rows


@pytest.mark.parametrize(
    ("row", "key", "why"),
    [
        ({"query": "How many?", "label": "3"}, "imgname", "must be a path"),
        ({"imgname": "41.png", "query": "How many?"}, "label", "there is no answer"),
        ({"imgname": "41.png", "query": "", "label": "3"}, "query", "missing or empty"),
        ({"imgname": "41.png", "query": "How many?", "label": ["3", "4"]}, "label", "different answers"),
        ({"imgname": "none.png", "query": "How many?", "label": "3"}, "imgname", "none.png"),
        ({"imgname": "../../x.png", "query": "How many?", "label": "3"}, "imgname", "leaves the folder"),
        ({"imgname": "41.png", "query": "\ud800", "label": "3"}, "query", "surrogate"),
        ({"imgname": "41.png", "query": "How many?", "label": True}, "label", "boolean"),
        ("a text", "", "not an object"),
    ],
)
def test_a_broken_row_is_named_by_file_row_key_and_value(row: object, key: str, why: str, tmp_path: Path) -> None:
    good = {"imgname": "41.png", "query": "How many bars?", "label": "3"}
    write(chartqa(tmp_path), {"train/train_human.json": [good, row]})
    bad = only_bad("chartqa", tmp_path)
    assert (bad.file, bad.row, bad.key) == (str(tmp_path / "train/train_human.json"), 2, key)
    assert why in bad.why


def test_broken_rows_stop_the_reading_unless_they_are_to_be_skipped(tmp_path: Path) -> None:
    row = json.loads((aokvqa(tmp_path) / "aokvqa_v1p0_train.json").read_text())[0]
    write(tmp_path, {"aokvqa_v1p0_train.json": [{**row, "correct_choice_idx": 9}]})
    with pytest.raises(UserError, match=r"row 1: correct_choice_idx: 9 is not the number of one of the 4 options"):
        read("aokvqa", tmp_path)
    with pytest.raises(UserError, match="1 of 1 rows"):
        read("aokvqa", tmp_path, skip_bad_rows=True)


@pytest.mark.parametrize(
    ("name", "row", "key"),
    [
        ("figureqa", {"answer": 2, "question_string": "?", "image_index": 0}, "answer"),
        ("figureqa", {"answer": 1, "question_string": "?", "image_index": "0"}, "image_index"),
        ("plotqa", {"answer": 1, "question_string": "?", "image_index": -1}, "image_index"),
        ("iconqa", {"question": "?", "ques_type": "sing", "answer": 0}, "ques_type"),
        ("vizwiz", {"question": "?", "answers": [{"answer": 1.5}, {"answer": ["x", "y"]}], "image": "x"}, "answers"),
        ("mathvista", {"question": "?", "answer": "1.5", "answer_type": "float", "image": "x"}, "precision"),
        ("unigeo", {"English_problem": "?", "label": 0, "choice_nums": ["x"]}, "choice_nums"),
        ("geometry3k", {"choices": ["1", "2"], "answer": "A"}, "problem_text"),
        ("mapqa", {"answer": "x", "map_id": "1"}, "question_text"),
        ("aokvqa", {"question_id": "1", "question": "?", "choices": ["a", "b"], "correct_choice_idx": 0}, "image_id"),
        (
            "mathv360k",
            {
                "image": "x",
                "conversations": [
                    {"from": "human", "value": "Question: x\nChoices:\n(B) 1\n(C) 2"},
                    {"from": "gpt", "value": "B"},
                ],
            },
            "conversations",
        ),
    ],
)
def test_each_reader_names_the_key_that_is_wrong(name: str, row: dict[str, object], key: str) -> None:
    with pytest.raises(RowError) as error:
        DATA_SETS[name].read(row)
    assert error.value.key == key


def test_two_rows_of_one_id_are_a_mistake_and_a_question_asked_twice_is_left_out(tmp_path: Path) -> None:
    row = json.loads((aokvqa(tmp_path) / "aokvqa_v1p0_train.json").read_text())[0]
    write(tmp_path, {"aokvqa_v1p0_train.json": [row, row]})
    assert (only_bad("aokvqa", tmp_path).row, only_bad("aokvqa", tmp_path).key) == (2, "id")
    twice = {"imgname": "41.png", "query": "How many?", "label": "3"}
    write(chartqa(tmp_path), {"train/train_human.json": [twice, twice]})
    assert read("chartqa", tmp_path).left_out == {"asked twice of the same image": 1}


# What is asked for


def test_unknown_sets_splits_and_folders_are_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no data set 'chartqb'; choose one of figureqa, chartqa"):
        read("chartqb", tmp_path)
    with pytest.raises(UserError, match=r"no split 'test' .*test/test_\*\.json"):
        read("chartqa", chartqa(tmp_path), split="test")
    with pytest.raises(UserError, match="no such file or folder"):
        read("chartqa", tmp_path / "none")
    with pytest.raises(UserError, match="take=0"):
        read("chartqa", tmp_path, take=0)
    with pytest.raises(UserError, match="no place on the hub"):
        read("unigeo", "hf:")


def many_charts(root: Path, count: int) -> Path:
    rows = [
        {"imgname": "41.png", "query": f"How high is bar {number}?", "label": str(number)} for number in range(count)
    ]
    return write(root, {"train/train_human.json": rows, "train/png/41.png": picture()})


def test_a_draw_is_the_same_everywhere_and_another_with_another_seed(tmp_path: Path) -> None:
    first, second = many_charts(tmp_path / "here", 50), many_charts(tmp_path / "there", 50)
    drawn = [task.question for task in read("chartqa", first, take=10).tasks]
    assert len(drawn) == 10
    assert drawn == [task.question for task in read("chartqa", second, take=10).tasks]
    assert drawn == sorted(drawn, key=lambda question: int(question.split()[-1][:-1])), "in the order of the file"
    assert drawn != [task.question for task in read("chartqa", first, take=10, seed=1).tasks]
    assert len(read("chartqa", first, take=500).tasks) == 50


def test_a_draw_comes_from_all_parts_of_a_file(tmp_path: Path) -> None:
    places = [int(task.answer) for task in read("chartqa", many_charts(tmp_path, 400), take=60).tasks]
    assert all(sum(low <= place < low + 100 for place in places) >= 5 for low in (0, 100, 200, 300))


def test_a_larger_draw_holds_the_smaller_one(tmp_path: Path) -> None:
    root = many_charts(tmp_path, 50)
    small, large = ({task.id for task in read("chartqa", root, take=take).tasks} for take in (5, 20))
    assert small < large


def test_a_draw_opens_no_other_images(tmp_path: Path) -> None:
    root = many_charts(tmp_path, 30)
    rows = json.loads((root / "train/train_human.json").read_text())
    kept = {task.question for task in read("chartqa", root, take=3).tasks}
    for row in rows:
        if row["query"] not in kept:
            row["imgname"] = "none.png"
    write(root, {"train/train_human.json": rows})
    assert len(read("chartqa", root, take=3).tasks) == 3


def test_one_file_of_a_release_is_enough(tmp_path: Path) -> None:
    chartqa(tmp_path)
    found = read("chartqa", tmp_path / "train/train_augmented.json", image_root=tmp_path / "train/png")
    assert [task.answer for task in found.tasks] == ["Peru"]


# Parquet and the hub


HUB_ROWS = {
    "chartqa": [{"image": hub_image(), "query": "Which?", "label": ["Peru"], "human_or_machine": 0}],
    "geometry3k": [
        {
            "images": [hub_image()],
            "problem": "<image>Find x.",
            "answer": "3",
            "id": 7,
            "choices": ["1", "3"],
            "ground_truth": "B",
        }
    ],
    "geoqa": [
        {
            "id": 1,
            "subject": "求角",
            "choices": ["1", "2"],
            "label": 1,
            "original_split": "train",
            "image": hub_image(),
        },
        {"id": 2, "subject": "求角", "choices": ["1", "2"], "label": 1, "original_split": "test", "image": hub_image()},
    ],
    "mapqa": [
        {
            "images": [hub_image()],
            "texts": [{"user": "<image>Does Utah lead?", "assistant": "Yes.", "source": "MapQA"}],
        }
    ],
    "docvqa": [{"questionId": "1", "question": "When?", "image": hub_image(), "docId": 1, "answers": ["1993"]}],
    "infographicvqa": [{"questionId": "1", "question": "When?", "image": hub_image(), "answers": ["1993"], "ocr": ""}],
    "vizwiz": [{"question_id": "a.jpg", "image": hub_image(), "question": "What?", "answers": ["basil"] * 10}],
    "okvqa": [{"question_id": "1", "image": hub_image(), "question": "What?", "answers": ["race"] * 10}],
    "scienceqa": [{"image": hub_image(), "question": "Which?", "choices": ["a", "b"], "answer": 1, "hint": ""}],
    "aokvqa": [
        {
            "image": hub_image(),
            "question_id": "q",
            "question": "Which?",
            "choices": ["a", "b"],
            "correct_choice_idx": 1,
            "direct_answers": "['b', 'b']",
        }
    ],
    "aokvqa-direct": [
        {"image": hub_image(), "question_id": "q", "question": "Which?", "direct_answers": "['b', 'b', 'a']"}
    ],
    "ai2d": [{"question": "Which?", "options": ["ears", "nose"], "answer": "1", "image": hub_image()}],
    "mathvision": [
        {
            "id": "4",
            "question": "<image1> How many?",
            "options": [],
            "decoded_image": hub_image(),
            "answer": "7",
            "image": "x",
        }
    ],
    "mathvista": [
        {
            "pid": "1",
            "question": "How many?",
            "image": "images/1.jpg",
            "decoded_image": hub_image(),
            "answer": "7",
            "question_type": "free_form",
            "answer_type": "integer",
        }
    ],
}


@pytest.mark.parametrize("name", HUB_ROWS)
def test_the_hubs_columns_of_a_data_set_are_read_from_parquet(name: str, tmp_path: Path) -> None:
    (task,) = read(name, parquet(tmp_path / "train-00000-of-00001.parquet", HUB_ROWS[name])).tasks
    assert task.images[0].width == 60
    assert "<image" not in task.question


def test_a_folder_of_parquet_files_is_read_by_the_splits_of_the_hub(tmp_path: Path) -> None:
    parquet(tmp_path / "data/val-00000-of-00001.parquet", HUB_ROWS["chartqa"])
    parquet(tmp_path / "data/train-00000-of-00001.parquet", [{**HUB_ROWS["chartqa"][0], "query": "Other?"}])
    assert [task.question for task in read("chartqa", tmp_path, "validation").tasks] == ["Which?"]


def test_a_data_set_named_like_on_the_hub_with_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of that package, so that it writes nothing outside of the test's folder.
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "DocVQA"
    parquet(place / "InfographicVQA/validation-00000-of-00001.parquet", HUB_ROWS["infographicvqa"])
    (place / "README.md").write_text(
        "---\nconfigs:\n- config_name: InfographicVQA\n  data_files:\n  - split: validation\n"
        "    path: InfographicVQA/validation-*\n---\n"
    )
    (task,) = read("infographicvqa", f"hf:{place}:InfographicVQA", "validation").tasks
    assert task.id == "infographicvqa/validation/1"
    with pytest.raises(UserError, match=r"the split 'test' .* cannot be loaded"):
        read("infographicvqa", f"hf:{place}:InfographicVQA", "test")


def test_answers_that_the_hub_hides_are_counted(tmp_path: Path) -> None:
    rows = [*HUB_ROWS["vizwiz"], {**HUB_ROWS["vizwiz"][0], "question_id": "b.jpg", "answers": []}]
    found = read("vizwiz", parquet(tmp_path / "val.parquet", rows))
    assert (len(found.tasks), found.left_out) == (1, {"no answer is published": 1})


# Files that want more than to be read


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def reasons(path: Path) -> list[str]:
    return [one.row.why for one in pickled_rows(path) if isinstance(one.row, RowError)]


def test_a_pickle_that_would_run_something_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "train.pk"
    path.write_bytes(pickle.dumps([{"id": 1, "subject": Evil(tmp_path / "ran")}]))
    assert "which is not run here" in reasons(path)[0]
    assert not (tmp_path / "ran").exists()
    with pytest.raises(UserError, match="is no pickle of plain data"):
        read("geoqa", tmp_path)


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04]", b"cos\nsystem\n(S'true'\ntR.", b"\x80\x02}."])
def test_what_is_no_pickle_of_rows_says_so(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "train.pk"
    path.write_bytes(content)
    assert len(reasons(path)) == 1


@pytest.mark.parametrize(
    ("array", "is_picture"),
    [
        (np.zeros((3, 4), np.uint8), True),
        (np.zeros((3, 4, 3), np.uint8), True),
        (np.zeros((3, 4, 5), np.uint8), False),
        (np.zeros((3, 4), np.float64), False),
        (np.zeros((0, 4), np.uint8), False),
        (np.zeros(4, np.uint8), False),
    ],
)
def test_arrays_are_pictures_when_they_can_be(array: np.ndarray, is_picture: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.pk"
    path.write_bytes(pickle.dumps([{"image": array, "number": np.float64(2.5)}]))
    ((row),) = (one.row for one in pickled_rows(path))
    assert not isinstance(row, RowError)
    assert (isinstance(row["image"], bytes), row["number"]) == (is_picture, 2.5)


@pytest.mark.parametrize("protocol", range(6))
def test_pickles_of_every_protocol_are_read(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "train.pk"
    path.write_bytes(pickle.dumps([{"image": np.full((2, 2), 7, np.uint8), "subject": "角"}], protocol=protocol))
    (one,) = pickled_rows(path)
    assert not isinstance(one.row, RowError)
    assert (one.row["subject"], type(one.row["image"])) == ("角", bytes)


# JSON that is no list


def rows_of(text: str, tmp_path: Path, rows=rows_by_id) -> list[object]:
    path = tmp_path / "file.json"
    path.write_text(text)
    return [one.row.why if isinstance(one.row, RowError) else one.row for one in rows(path)]


def test_rows_under_a_key_pass_over_what_stands_beside_it(tmp_path: Path) -> None:
    text = json.dumps({"info": {"data": [{"a": 0}], "n": -1.5e3}, "data": [{"a": 1}, {"a": [1, {"b": 2}]}], "z": [1]})
    assert rows_of(text, tmp_path, rows_under("data")) == [{"a": 1}, {"a": [1, {"b": 2}]}]
    assert rows_of(text, tmp_path, rows_under("rows")) == ["is missing in the file, or no list"]
    assert rows_of('{"data": 3}', tmp_path, rows_under("data")) == ["is missing in the file, or no list"]


def test_a_file_that_is_the_list_itself_is_read_as_well(tmp_path: Path) -> None:
    assert rows_of('[{"a": 1}, {"a": 2}]', tmp_path, rows_under("data")) == [{"a": 1}, {"a": 2}]


def test_long_files_are_read_across_the_pieces_in_which_they_come(tmp_path: Path) -> None:
    rows = [{"number": number, "text": "x" * (number % 97)} for number in range(5000)]
    assert rows_of(json.dumps({"head": "y" * 100_000, "data": rows}), tmp_path, rows_under("data")) == rows
    by_id = {str(number): {"n": number * 10**12} for number in range(9000)}
    assert rows_of(json.dumps(by_id), tmp_path) == [{"pid": key, **value} for key, value in by_id.items()]


def test_a_number_at_the_end_of_a_piece_goes_on_in_the_next(tmp_path: Path) -> None:
    head = '{"pad": "' + "x" * (READ_CHARACTERS - 19) + '", "n": 12'
    assert len(head) == READ_CHARACTERS
    assert rows_of(head + '345, "data": [{"a": 1}]}', tmp_path, rows_under("data")) == [{"a": 1}]


@pytest.mark.parametrize(
    "text", ["", "[", '{"a" {}}', '{"a": {"b": 1} "c": {}}', '{"a": NaN}', '{"a": {"b"', "{1: 2}", "[" * 100_000]
)
def test_broken_json_ends_in_one_reason(text: str, tmp_path: Path) -> None:
    found = rows_of(text, tmp_path)
    assert isinstance(found[-1], str)
    assert "nothing after it can be read" in found[-1]


def test_rows_that_were_fetched_from_a_hub_name_no_picture_of_this_machine(tmp_path: Path) -> None:
    write(tmp_path, {"own.png": picture()})
    row = {"index": 0, "question": "How many?", "answer": "1", "image": str(tmp_path / "own.png")}
    for folder, is_read in (("release", True), ("datasets--a--b/snapshots/0123abc/release", False)):
        where = parquet(tmp_path / folder / "test-0.parquet", [row]).parent
        with contextlib.nullcontext() if is_read else pytest.raises(UserError, match="a path of another machine"):
            assert len(read("chartqa", where, "test").tasks) == 1
        with contextlib.nullcontext() if is_read else pytest.raises(UserError, match="a path of another machine"):
            assert len(open_benchmark("chartqa-test", where / "test-0.parquet", media=MediaStore()).rows) == 1


def test_releases_in_folders_of_other_names_are_found(tmp_path: Path) -> None:
    scienceqa(tmp_path / "a")
    (tmp_path / "a/images").mkdir()
    (tmp_path / "a/train").rename(tmp_path / "a/images/train")
    assert len(read("scienceqa", tmp_path / "a").tasks) == 1
    vizwiz(tmp_path / "b")
    (tmp_path / "b/Annotations").rename(tmp_path / "b/annotations")
    assert len(read("vizwiz", tmp_path / "b").tasks) == 1
    assert set(RELEASES) >= {"scienceqa", "vizwiz"}
