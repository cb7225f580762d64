"""Each benchmark from a small file in its release's true layout: read, asked, and the gold answer right."""

import contextlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_releases import (
    HUB_ROWS,
    JSON_RELEASES,
    TSV_ROWS,
    write_counter_curate,
    write_json_release,
    write_parquet,
    write_releases,
    write_sugar_crepe,
    write_tsv,
)

from saccade.errors import UserError
from saccade.evaluation.benchmarks import (
    BENCHMARKS,
    SUITES,
    BenchmarkRow,
    OpenedBenchmark,
    find_benchmark,
    open_benchmark,
    suite_readiness,
    with_options,
)
from saccade.evaluation.benchmarks.hub_rows import lettered_row
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.media.store import MediaStore
from saccade.tasks.rows.fields import RowError


def gold(row: BenchmarkRow) -> str:
    if row.task.family.startswith(("vlmsareblind", "zerobench")):
        return f"{{{row.answer}}}"
    return row.fields.get("answer_option") or row.answer


def check_gold_is_right(opened: OpenedBenchmark) -> None:
    assert opened.rows
    for row in opened.rows:
        assert row.task.images
        assert opened.benchmark.prompt(row)
        assert opened.benchmark.cluster(row)
        for reading in opened.benchmark.readings:
            told = reading.read(row, row.task.answer if reading.name != "vlmevalkit" else gold(row)).is_right
            # AI2D's own rule of lmms-eval reads B and "B.", and a judged one says nothing alone.
            assert told is not False, (opened.benchmark.name, reading.name, row)


@pytest.mark.parametrize("name", TSV_ROWS)
def test_a_tsv_of_a_benchmark(name: str, tmp_path: Path) -> None:
    write_tsv(name, tmp_path)
    check_gold_is_right(open_benchmark(name, tmp_path, media=MediaStore()))


@pytest.mark.parametrize("name", HUB_ROWS)
def test_the_hubs_parquet_of_a_benchmark(name: str, tmp_path: Path) -> None:
    write_parquet(name, tmp_path)
    check_gold_is_right(open_benchmark(name, tmp_path, media=MediaStore()))


@pytest.mark.parametrize("name", JSON_RELEASES)
def test_the_json_of_a_release_beside_its_pictures(name: str, tmp_path: Path) -> None:
    found = find_benchmark(BENCHMARKS[name], tmp_path)
    assert not found.is_ready
    assert BENCHMARKS[name].layout.origin in found.wanted
    count = 1 if name in ("agentic-mme", "vstar") else 3
    write_json_release(name, tmp_path, count)
    opened = open_benchmark(name, tmp_path, media=MediaStore())
    assert len(opened.rows) == count
    check_gold_is_right(opened)
    file, row = JSON_RELEASES[name]
    cut = {key: value for key, value in row.items() if key not in ("problem", "prompt", "question", "input", "bbox")}
    (tmp_path / file).write_text(json.dumps(cut))
    assert find_benchmark(BENCHMARKS[name], tmp_path / Path(file).parts[0]).is_ready
    with pytest.raises(UserError, match=rf"{Path(file).name}, row 1, column '.+': is missing"):
        open_benchmark(name, tmp_path, media=MediaStore())


def test_what_releases_have_otherwise_in_single_rows_is_read(tmp_path: Path) -> None:
    write_json_release("o3-bench", tmp_path)
    write_json_release("agentic-mme", tmp_path)
    file, row = JSON_RELEASES["o3-bench"]
    (tmp_path / file).write_text(json.dumps({**row, "options": "A. red\nB. blue C. none\nD. all"}))
    [odd] = open_benchmark("o3-bench", tmp_path, media=MediaStore()).rows
    assert (odd.options, odd.question) == ({}, "Which?\nA. red\nB. blue C. none\nD. all")
    assert [reading.read(odd, "B").credit for reading in BENCHMARKS["o3-bench"].readings] == [1.0, 1.0]
    picture = tmp_path / "Agentic-MME/images/image_0009.png"
    picture.rename(picture.with_suffix(".jpg"))
    [row] = open_benchmark("agentic-mme", tmp_path, media=MediaStore()).rows
    assert row.pictures
    # What a recorded search goes by.
    assert row.task.document == f"agentic-mme/{JSON_RELEASES['agentic-mme'][1]['task_id']}"


def test_the_hubs_file_itself_is_read_beside_a_releases_layout_and_a_video_benchmarks_is_refused(
    tmp_path: Path,
) -> None:
    write_parquet("vstar", tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    [row] = open_benchmark("vstar", file, media=MediaStore()).rows
    assert (row.answer, row.task.targets) == ("B", ())
    with pytest.raises(UserError, match="holds no question of Video-MME-v2"):
        open_benchmark("video-mme-v2", file, media=MediaStore())


def test_a_release_of_another_level_is_none_of_this(tmp_path: Path) -> None:
    write_json_release("visualprobe-easy", tmp_path)
    (tmp_path / "VisualProbe_Easy").rename(tmp_path / "VisualProbe_Hard")
    assert not find_benchmark(BENCHMARKS["visualprobe-hard"], tmp_path).is_ready


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("vstar", (4, 5, 7, 7)),
        ("o3-bench", (1, 2, 6, 5.5)),
        ("screenspot-v2", (4, 5, 7, 7)),
        ("screenspot-pro", (4, 5, 7, 9)),
    ],
)
def test_the_regions_of_a_release_are_the_targets_of_its_questions(
    name: str, box: tuple[float, ...], tmp_path: Path
) -> None:
    write_json_release(name, tmp_path)
    [row] = open_benchmark(name, tmp_path, media=MediaStore()).rows
    assert [target.box.as_tuple() for target in row.task.targets] == [box]


def test_targets_of_a_row_are_cut_off_at_the_edge_and_what_is_no_box_is_told(tmp_path: Path) -> None:
    write_tsv("treebench", tmp_path)
    [row] = open_benchmark("treebench", tmp_path, media=MediaStore()).rows
    assert [target.box.as_tuple() for target in row.task.targets] == [(1, 2, 3, 4)]
    outside = {**row.fields, "targets": "[[5, 5, 99, 99], [50, 50, 60, 60]]"}
    found = row_of(BENCHMARKS["treebench"], outside, row.pictures).task.targets
    assert [target.box.as_tuple() for target in found] == [(5, 5, 12, 12)]
    with pytest.raises(RowError, match="must be a list of boxes"):
        row_of(BENCHMARKS["treebench"], {**row.fields, "targets": "[[5, 5, 9]]"}, row.pictures)


@pytest.mark.parametrize(
    ("name", "file", "other"),
    [
        ("mathvision-test", "test-00000-of-00001-35.parquet", "testmini-00000-of-00001-f8.parquet"),
        ("hrbench-4k", "hr_bench_4k.parquet", "hr_bench_8k.parquet"),
    ],
)
def test_of_the_hubs_files_those_of_the_split_alone_are_read(name: str, file: str, other: str, tmp_path: Path) -> None:
    for one, count in ((file, 3), (other, 2)):
        write_parquet(name, tmp_path, count)
        [written] = tmp_path.rglob("*-00000-of-00001.parquet")
        written.rename(written.parents[1] / one)
    assert len(open_benchmark(name, tmp_path, media=MediaStore()).rows) == 3


@pytest.mark.parametrize("name", HUB_ROWS)
def test_a_hubs_column_that_is_missing_is_told_and_rows_without_an_answer_are_asked(name: str, tmp_path: Path) -> None:
    write_parquet(name, tmp_path)
    [path] = tmp_path.rglob("*.parquet")
    table = pq.read_table(path)
    for column in table.column_names:
        pq.write_table(table.drop_columns([column]), path)
        if column == "answer":
            assert not any(row.has_answer for row in open_benchmark(name, tmp_path, media=MediaStore()).rows)
        else:
            with contextlib.suppress(UserError):
                open_benchmark(name, tmp_path, media=MediaStore())


def test_every_benchmark_with_files_of_its_own_has_a_small_one_here() -> None:
    own = {name for name, one in BENCHMARKS.items() if one.layout.releases}
    elsewhere = {"mindcube-tiny", *(name for name in own if name.startswith("mathverse"))}
    assert own - elsewhere <= set(TSV_ROWS)
    assert {name for name, one in BENCHMARKS.items() if one.layout.hub} - set(HUB_ROWS) <= {
        "hrbench-8k", "cv-bench-3d", "ai2d-test-no-mask"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("How many?\nOptions: A: Yes, B: No, C: nan, D: nan", ["Yes", "No"]),
        ("Which plan?\nOptions: A: Plan A. It is cheap, B: Plan B.", ["Plan A. It is cheap", "Plan B."]),
        ("Which?\nOptions: A: a nan, B: None", ["a nan", "None"]),
    ],
)
def test_options_in_a_hubs_line_end_where_the_next_begins_and_padding_is_none(text: str, options: list[str]) -> None:
    columns = lettered_row(text, {"answer": "A"})
    assert [columns[letter] for letter in "ABCD" if letter in columns] == options
    assert columns["question"] == text.partition("\n")[0]


@pytest.mark.parametrize("name", ["mathvista-testmini", "chartqa-test", "charxiv-reasoning", "mathvision-test"])
def test_of_an_answer_that_is_a_list_all_items_must_be_said(name: str) -> None:
    row = row_of(BENCHMARKS[name], {"index": "1", "question": "Which years?", "answer": "[2007, 2008]"}, ())
    said = {
        reply: STRICT.read(row, reply).credit for reply in ("[2007, 2008]", "2007 and 2008", "2007", "[2007, 2009]")
    }
    assert list(said.values()) == [1.0, 1.0, 0.0, 0.0]


def test_of_an_open_answer_of_mmmu_any_spelling_counts() -> None:
    row = row_of(BENCHMARKS["mmmu-val"], {"index": "1", "question": "How many?", "answer": "['two', '2']"}, ())
    assert [STRICT.read(row, reply).credit for reply in ("2", "two", "3")] == [1.0, 1.0, 0.0]


def test_sugarcrepe_and_countercurate_from_their_own_files(tmp_path: Path) -> None:
    write_sugar_crepe(tmp_path)
    write_counter_curate(tmp_path)
    pairs = open_benchmark("sugarcrepe", tmp_path, media=MediaStore())
    check_gold_is_right(pairs)
    assert {row.answer for row in pairs.rows} == {"A", "B"}
    curated = open_benchmark("countercurate", tmp_path, media=MediaStore())
    assert [row.options[row.answer] for row in curated.rows] == ["left", "right", "There are 2 dogs."]
    (tmp_path / "sugar-crepe/data/swap_obj.json").write_text('{"0": {"caption": "a"}}')
    with pytest.raises(UserError, match=r"swap_obj\.json, question '0': must have filename"):
        open_benchmark("sugarcrepe", tmp_path, media=MediaStore())


@pytest.mark.parametrize("name", ["ivgr", "codedance", "argos", "mini-o3"])
def test_every_set_of_a_papers_table_is_found_in_one_folder_and_a_missing_one_is_named(
    name: str, tmp_path: Path
) -> None:
    suite = SUITES[name]
    write_releases([row.name for row in suite.rows[1:]], tmp_path)
    first, *others = suite_readiness(suite, tmp_path)
    assert all(one.is_ready for one in others), [one.wanted for one in others if not one.is_ready]
    assert not first.is_ready
    assert str(tmp_path) in first.wanted
    for row in suite.rows[1:]:
        check_gold_is_right(open_benchmark(row.name, tmp_path, media=MediaStore()))


def test_cycles_and_shuffles_keep_the_right_option() -> None:
    fields = dict(zip("ABCD", ("red", "blue", "green", "grey")))
    row = row_with({"index": "1", "question": "Which?", "answer": "A", **fields})
    cycles = list(with_options([row], "cycles"))
    assert [one.task.id for one in cycles] == ["vstar/1", "vstar/1#1", "vstar/1#2", "vstar/1#3"]
    assert [one.answer for one in cycles] == ["A", "D", "C", "B"]
    assert {one.options[one.answer] for one in cycles} == {"red"}
    (shuffled,) = with_options([row], "shuffled", seed=3)
    assert shuffled == next(with_options([row], "shuffled", seed=3))
    assert (shuffled.options[shuffled.answer], shuffled.task.id) == ("red", row.task.id)


def row_with(fields: dict[str, str]) -> BenchmarkRow:
    return row_of(BENCHMARKS["vstar"], fields, ())


def test_cycles_expose_a_policy_that_always_says_the_first_option() -> None:
    """A constructed set whose right option is always first: perfect as published, at chance over the cycles."""
    rows = [
        row_with({"index": str(place), "question": f"Q{place}", "answer": "A", "A": "w", "B": "x", "C": "y", "D": "z"})
        for place in range(20)
    ]
    rule = BENCHMARKS["vstar"].reading("strict")

    def accuracy(asked: list[BenchmarkRow]) -> float:
        return sum(rule.read(row, "A").credit or 0.0 for row in asked) / len(asked)

    assert accuracy(rows) == 1.0
    assert accuracy(list(with_options(rows, "cycles"))) == 0.25
    assert 0.1 < accuracy(list(with_options(rows, "shuffled", seed=1))) < 0.5
