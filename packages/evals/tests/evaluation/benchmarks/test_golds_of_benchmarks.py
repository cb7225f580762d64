"""Golds of benchmarks: lists, the answers of ten people, none at all, and what the hub made of options."""

from pathlib import Path

import pandas as pd
import pytest
from small_releases import HUB_ROWS, write_tsv
from test_tsv import asked, encoded, written

from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkRow, open_benchmark, read_replies
from saccade.evaluation.benchmarks.boxes import best_iou
from saccade.evaluation.benchmarks.hub_rows import lettered_row, with_choices
from saccade.evaluation.benchmarks.rows import row_of
from saccade.media.store import MediaStore


def row(name: str, answer: str, **columns: str) -> BenchmarkRow:
    return row_of(BENCHMARKS[name], {"index": "1", "question": "What is it?", "answer": answer, **columns}, ())


def credit(name: str, reading: str, reply: str, answer: str, **columns: str) -> float | None:
    return BENCHMARKS[name].reading(reading).read(row(name, answer, **columns), reply).credit  # type: ignore[arg-type]


FREE = {"question_type": "free_form", "answer_type": "list"}
OF_ALL_ITEMS = [
    ("mathvista-testmini", FREE),
    ("chartqa-test", {"split": "test_human"}),
    ("charxiv-reasoning", {}),
    ("mathvision-test", {}),
    ("mmlongbench-doc-all", {"answer_format": "List"}),
    ("slidevqa-test", {}),
]


@pytest.mark.parametrize(("name", "columns"), OF_ALL_ITEMS, ids=[name for name, _ in OF_ALL_ITEMS])
def test_a_gold_that_is_a_list_wants_all_of_its_items(name: str, columns: dict[str, str]) -> None:
    def strict(reply: str, gold: str = "[2007, 2008]") -> float | None:
        return credit(name, "strict", reply, gold, **columns)

    for reply in ("[2007, 2008]", "2007, 2008", "2008 and 2007", "<answer>['2007', '2008']</answer>", "[2007,2008]"):
        assert strict(reply) == 1.0, reply
    for reply in ("2007", "2008", "2007, 2008, 2009", "2007, 2007", "[2007, 2009]", "", "2007 or 2008"):
        assert strict(reply) == 0.0, reply
    for reply in ("[Lamb, Corn]", "corn, lamb", "Lamb and Corn"):
        assert strict(reply, "[Lamb, Corn]") == strict(reply, "['Lamb', 'Corn']") == 1.0, reply
    assert strict("Lamb", "[Lamb, Corn]") == 0.0


def test_where_a_list_holds_alternatives_any_of_them_counts() -> None:
    for reply in ("2", "two"):
        assert credit("mmmu-val", "strict", reply, "['2', 'two']") == 1.0
        assert credit("docvqa", "vlmevalkit", reply, "['2', 'two']") == 1.0
        # As VLMEvalKit reads a list of ChartQA: its rule is not mended.
        assert credit("chartqa-test", "vlmevalkit", reply, "['2', 'two']") == 1.0
    assert credit("mmmu-val", "strict", "2, two", "['2', 'two']") == 0.0


TEN = repr(["dog"] * 2 + ["the cat"] * 8)


@pytest.mark.parametrize("name", ["textvqa", "vizwiz", "okvqa"])
def test_what_two_of_ten_people_say_is_worth_their_soft_accuracy(name: str) -> None:
    for reading in BENCHMARKS[name].readings:
        read = [reading.read(row(name, TEN), reply) for reply in ("dog", "Cat.", "bird", "")]
        assert [one.credit for one in read] == [pytest.approx(0.6), 1.0, 0.0, 0.0]
        assert [one.is_right for one in read] == [True, True, False, False]
    found = read_replies(BENCHMARKS[name], "strict", [row(name, TEN)] * 2, ["dog", "bird"])
    assert [(one.name, one.value) for one in found.figures] == [("VQA accuracy", pytest.approx(0.3))]


def test_aokvqa_leaves_no_annotator_out_as_its_own_script_does() -> None:
    said = [credit("aokvqa-direct", "strict", reply, TEN) for reply in ("<answer>a dog</answer>", "cat", "bird")]
    assert said == [pytest.approx(2 / 3), 1.0, 0.0]


def test_vizwiz_tells_questions_that_cannot_be_answered_apart() -> None:
    rows = [row("vizwiz", repr(["unanswerable"] * 9 + ["red"])), row("vizwiz", repr(["red"] * 10))]
    found = read_replies(BENCHMARKS["vizwiz"], "strict", rows, ["Unanswerable.", "unanswerable"])
    assert {one.name: (one.value, one.n) for one in found.figures} == {
        "VQA accuracy": (0.5, 2), "answerable": (0.0, 1), "unanswerable": (1.0, 1)
    }  # fmt: skip


COLOURS = {"A": "red", "B": "blue"}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_no_reading_scores_a_row_without_an_answer_or_asks_a_judge_about_it(name: str) -> None:
    for columns in ({}, COLOURS):
        for reading in BENCHMARKS[name].readings:
            for reply in ("", "B", "12", "Yes", "Not answerable"):
                assert reading.read(row(name, "", **columns), reply).credit is None


def test_a_file_of_a_test_split_is_read_and_says_how_many_rows_have_no_answer(tmp_path: Path) -> None:
    rows = [asked(0, encoded(1)), asked(1, encoded(2), answer=None), asked(2, encoded(3), answer="?")]
    opened = open_benchmark("vstar", written(tmp_path, rows), media=MediaStore())
    assert opened.unanswered == 2
    assert opened.describe().endswith("3 questions, 2 of them WITHOUT AN ANSWER: asked for a submission, in no figure")
    found = read_replies(opened.benchmark, "vlmevalkit", opened.rows, ["B", "B", None])
    assert (found.unanswered, found.no_verdict, found.failed) == (1, 0, 1)
    assert (found.figures[0].value, found.figures[0].n, found.as_json()["n"]) == (1.0, 1, 1)
    bare = pd.DataFrame(rows).drop(columns="answer")
    bare.to_csv(tmp_path / "VStarBench.tsv", sep="\t", index=False)
    assert open_benchmark("vstar", tmp_path, media=MediaStore()).unanswered == 3


@pytest.mark.parametrize("name", ["pope", "cv-bench-2d", "blink", "ai2d-test", "hallusionbench", "mathvista-testmini"])
def test_a_null_of_the_hub_is_no_answer(name: str, tmp_path: Path) -> None:
    key = "gt_answer" if name == "hallusionbench" else "answer"
    benchmark = BENCHMARKS[name]
    folder = tmp_path / benchmark.layout.hub.rpartition("/")[2]
    folder.mkdir()
    pd.DataFrame([{**HUB_ROWS[name], key: None}]).to_parquet(folder / f"{benchmark.layout.split}-0.parquet")
    assert open_benchmark(name, tmp_path, media=MediaStore()).unanswered == 1


def test_slidevqas_empty_answer_is_that_it_cannot_be_answered(tmp_path: Path) -> None:
    write_tsv("slidevqa-test", tmp_path)
    path = tmp_path / "SLIDEVQA.tsv"
    table = pd.read_csv(path, sep="\t")
    table.assign(answer=None).to_csv(path, sep="\t", index=False)
    opened = open_benchmark("slidevqa-test", tmp_path, media=MediaStore())
    assert opened.unanswered == 0
    assert opened.benchmark.reading("lmms-eval").read(opened.rows[0], "Not answerable").credit == 1.0


def test_boxes_that_meet_no_target_are_worth_what_treebenchs_script_gives() -> None:
    assert best_iou("<box>[1,1,2,2]</box>", "[]") == 1.0
    assert best_iou("no box", "[]") == best_iou("<box>[1,1,2,2]</box>", "none") == 0.0


def test_every_label_of_evidence_that_rows_name_has_its_figure() -> None:
    benchmark = BENCHMARKS["mmlongbench-doc-all"]
    labels = ("Pure-text (Plain-text)", "Generalized-text (Layout)", "Table", "Chart", "Figure", "Map (Sketch)", "Odd")
    rows = [
        row("mmlongbench-doc-all", "6", answer_format="Int", evidence_sources=str([label]), evidence_pages="[4]")
        for label in labels
    ]
    found = read_replies(benchmark, "lmms-eval", rows, ["6"] * len(rows))
    names = {one.name for one in found.figures if one.n == 1}
    assert names == {"text", "layout", "table", "chart", "image", "sketch", "odd"}


LETTERED = (
    ("How many?\nOptions: A: Yes, B: No, C: nan, D: nan", "A", ["Yes", "No"]),
    ("How many?\nOptions: A: Two, B: One, C: nan, D: Three", "D", ["Two", "One", "None", "Three"]),
    ("How many?\nOptions: A: nan, B: Two, C: One, D: Cannot be determined", "A",
     ["None", "Two", "One", "Cannot be determined"]),
    ("Which?\nOptions: A: x, B: y, C: z, D: nan", "D", ["x", "y", "z", "None"]),
    ("Hint: e.g., A, B, C, D, at the end.\nQuestion: Is it?\nChoices:\n(A) Yes\n(B) No\n(C) nan\n(D) nan", "A",
     ["Yes", "No"]),
    ("Plan?\nOptions: A: Plan A. It is cheap, B: Plan B. It is fast, C: both", "A",
     ["Plan A. It is cheap", "Plan B. It is fast", "both"]),
    ("Plan?\nA. Plan B. It is cheap\nB. Plan C. It is fast", "A", ["Plan B. It is cheap", "Plan C. It is fast"]),
    ("What does panel (B) show?\n(A) red (B) blue", "A", ["red", "blue"]),
    ("Who is right, (A) or (C)?\n(A) Ann\n(B) Bob\n(C) both", "A", ["Ann", "Bob", "both"]),
    ("Which?\n" + "\n".join(f"{letter}. {letter.lower()}x" for letter in "ABCDEFGHIJ"), "J",
     [f"{letter}x" for letter in "abcdefghij"]),
    ("Which?\nA. left\nB. right\nPlease answer directly with the letter only.", "A", ["left", "right"]),
    ("What is 1,000?\nOptions: A: 1,000 m, B: 2,000 m, C: 3,000 m", "A", ["1,000 m", "2,000 m", "3,000 m"]),
    ("Is it so?", "Yes", []),
)  # fmt: skip


@pytest.mark.parametrize(("text", "answer", "options"), LETTERED, ids=range(len(LETTERED)))
def test_options_are_taken_out_of_a_text(text: str, answer: str, options: list[str]) -> None:
    found = lettered_row(text, {"answer": answer})
    assert [found[letter] for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter in found] == options
    assert not str(found["question"]).endswith(tuple(options or ["?!"]))


def test_nulls_fill_a_list_of_options_up() -> None:
    assert with_choices({}, ["a", "b", None, None]) == {"A": "a", "B": "b"}
    assert with_choices({}, ["a", None, "c"]) == {"A": "a", "B": "None", "C": "c"}


def test_a_list_of_pictures_may_be_json_and_options_go_beyond_e(tmp_path: Path) -> None:
    first, second = encoded(1), encoded(2)
    beyond = {letter: letter.lower() for letter in "CDEFGHIJ"}
    rows = [
        asked(0, f'["{first}", "{second}"]', **beyond),
        asked(1, f'["{first}","{second}"]', **beyond),
        asked(2, str([first, second]), **beyond),
        asked(3, f'["{first}"]', **{**beyond, "answer": "J"}),
    ]
    opened = open_benchmark("vstar", written(tmp_path, rows), media=MediaStore())
    pictures = [one.task.images for one in opened.rows]
    assert pictures[0] == pictures[1] == pictures[2]
    assert [len(images) for images in pictures] == [2, 2, 2, 1]
    unquoted = (tmp_path / "VStarBench.tsv").read_text().replace('"["', '["').replace('"]"', '"]').replace('""', '"')
    (tmp_path / "VStarBench.tsv").write_text(unquoted)
    assert [one.task.images for one in open_benchmark("vstar", tmp_path, media=MediaStore()).rows] == pictures
    last = opened.rows[3]
    assert (last.options["J"], opened.benchmark.reading("vlmevalkit").read(last, "J").credit) == ("j", 1.0)
