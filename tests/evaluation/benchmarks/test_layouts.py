"""Each benchmark from a small file in its release's true layout: read, asked, and the gold answer right."""

import base64
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkRow, OpenedBenchmark, open_benchmark, with_options
from saccade.evaluation.benchmarks.rows import row_of
from saccade.media.store import MediaStore


def png(shade: int = 9) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (12, 12), (shade, shade, shade)).save(buffer, "PNG")
    return buffer.getvalue()


TEXT = base64.b64encode(png()).decode()
OPTIONS = {"index": 0, "image": TEXT, "question": "Which?", "A": "red", "B": "blue", "answer": "B", "category": "c"}
OPEN = {"index": 0, "image": TEXT, "question": "How many?", "answer": "14"}
LISTED = "['(A) red', '(B) blue', '(C) green', '(D) grey', '(E) none of them']"

TSV_ROWS: dict[str, dict[str, object]] = {
    "vstar": OPTIONS,
    "hrbench-4k": {**OPTIONS, "C": "green", "D": "grey", "cycle_category": "0"},
    "hrbench-8k": {**OPTIONS, "C": "green", "D": "grey", "cycle_category": "0"},
    "mme-realworld-lite": {**OPEN, "multi-choice options": LISTED, "answer": "B", "category": "c", "l2-category": "l"},
    "pope": {**OPEN, "answer": "Yes", "category": "random,popular"},
    "realworldqa": OPTIONS,
    "cv-bench-2d": {**OPTIONS, "prompt": "P", "source": "COCO", "split": "2D"},
    "cv-bench-3d": {**OPTIONS, "prompt": "P", "source": "Omni3D", "split": "3D"},
    "chartqa-test": {**OPEN, "split": "test_human"},
    "ai2d-test": OPTIONS,
    "ai2d-test-no-mask": OPTIONS,
    "wemath-testmini": {**OPTIONS, "ID": "1", "key": "2steps_1", "requirement": "R"},
    "mmstar": {**OPTIONS, "l2-category": "l"},
    "mmmu-val": {**OPTIONS, "split": "validation", "l2-category": "Art"},
    "treebench": {**OPTIONS, "category": "Perception/OCR", "target_instances": "[[1, 2, 3, 4]]"},
    "countbench": OPEN,
    "mathvision-test": {**OPEN, "choices": "[]", "category": "algebra"},
    "mathvista-testmini": {
        **OPEN,
        "choices": "['14', '15']",
        "answer_option": "A",
        "question_type": "multi_choice",
        "answer_type": "text",
        "task": "t",
    },
    "mathverse-vision-only": {**OPEN, "problem_index": 3, "problem_version": "Vision Only", "question_for_eval": "Q"},
    "charxiv-reasoning": {**OPEN, "inst_category": 3, "grading_query": "Grade {PREDICTION}"},
    "blink": OPTIONS,
    "hallusionbench": {**OPEN, "index": "VD_chart_0_1_2_0", "answer": "No", "category": "VD", "l2-category": "chart"},
    "slidevqa-test": {**OPEN, "image": str([TEXT, TEXT])},
    "mmlongbench-doc-all": {
        **OPEN,
        "image": str([TEXT]),
        "answer_format": "Int",
        "doc_id": "a.pdf",
        "evidence_pages": "[3]",
        "evidence_sources": "['Chart']",
    },
}

HUB_ROWS: dict[str, dict[str, object]] = {
    "vstar": {"question_id": 1, "text": "Which?\n(A) red\n(B) blue", "label": "B", "category": "c"}
    | {"image": {"bytes": png()}},
    "hrbench-4k": {**OPTIONS, "C": "green", "D": "grey", "cycle_category": "0"},
    "pope": {"id": "1", "question_id": "1", "question": "Is there a dog?", "answer": "yes", "category": "random"}
    | {"image": {"bytes": png()}},
    "realworldqa": {"question": "Which?\n\nA. red\nB. blue\nPlease answer.", "answer": "B", "image": {"bytes": png()}},
    "cv-bench-2d": {"idx": 1, "type": "2D", "task": "Count", "question": "Which?", "choices": ["red", "blue"]}
    | {"answer": "(B)", "prompt": "P", "source": "COCO", "image": {"bytes": png()}},
    "chartqa-test": {"type": "human_test", "question": "How many?", "answer": "14", "image": {"bytes": png()}},
    "ai2d-test": {"question": "Which?", "options": ["red", "blue"], "answer": "1", "image": {"bytes": png()}},
    "mmstar": {"index": 0, "question": "Which?\nOptions: A: red, B: blue", "answer": "B", "category": "c"}
    | {"l2_category": "l", "image": {"bytes": png()}},
    "mmmu-val": {"id": "validation_Art_1", "question": "<image 1> Which?", "options": "['red', 'blue']", "answer": "B"}
    | {"image_1": {"bytes": png()}, "image_2": None},
    "mmk12": {"id": "1", "question": "How many?", "answer": "14", "subject": "math", "image": {"bytes": png()}},
    "countbench": {"question": "How many?", "number": 14, "text": "T", "image": {"bytes": png()}},
    "pixmo-count": {"question": "How many?", "answer": "14", "image": {"bytes": png()}},
    "mathvision-test": {"id": "1", "question": "Area?", "options": [], "answer": "14", "subject": "algebra"}
    | {"image": "images/1.jpg", "decoded_image": {"bytes": png()}},
    "mathvista-testmini": {"pid": "1", "question": "Q", "query": "Hint. Q", "choices": ["14", "15"], "answer": "14"}
    | {"question_type": "multi_choice", "answer_type": "text", "image": "images/1.jpg"}
    | {"decoded_image": {"bytes": png()}},
    "charxiv-reasoning": {"figure_path": "1.jpg", "reasoning_q": "Q?", "reasoning_a": "14", "reasoning_q_source": 3}
    | {"image": {"bytes": png()}},
    "blink": {"idx": "v_1", "sub_task": "Counting", "question": "Which?", "choices": ["red", "blue"], "answer": "(B)"}
    | {"prompt": "P", "image_1": {"bytes": png()}, "image_2": {"bytes": png(7)}, "image_3": None},
    "mindcube-tiny": {"id": "among_1", "input_prompt": "<image>Which? A. red B. blue", "gt_answer": "B"}
    | {"images": [{"bytes": png()}, {"bytes": png(7)}]},
    "hallusionbench": {"category": "VD", "subcategory": "chart", "visual_input": "1", "set_id": "0", "figure_id": "1"}
    | {"question_id": "0", "question": "Is it?", "gt_answer": "0", "gt_answer_details": "No."}
    | {"image": {"bytes": png()}},
    "slidevqa-test": {"qa_id": 1, "question": "How many?", "answer": "14", "deck_name": "d"}
    | {f"page_{number}": {"bytes": png(number)} for number in range(1, 21)},
}  # fmt: skip


def gold(row: BenchmarkRow) -> str:
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
    file = BENCHMARKS[name].layout.releases[0].file
    pd.DataFrame([TSV_ROWS[name]]).to_csv(tmp_path / file, sep="\t", index=False)
    check_gold_is_right(open_benchmark(name, tmp_path, media=MediaStore()))


@pytest.mark.parametrize("name", HUB_ROWS)
def test_the_hubs_parquet_of_a_benchmark(name: str, tmp_path: Path) -> None:
    layout = BENCHMARKS[name].layout
    folder = tmp_path / layout.hub.rpartition("/")[2] / "data"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([HUB_ROWS[name]]), folder / f"{layout.split}-00000-of-00001.parquet")
    check_gold_is_right(open_benchmark(name, tmp_path, media=MediaStore()))


def test_every_benchmark_with_files_of_its_own_has_a_small_one_here() -> None:
    own = {name for name, one in BENCHMARKS.items() if one.layout.releases}
    elsewhere = {"mindcube-tiny", *(name for name in own if name.startswith("mathverse"))}
    assert own - elsewhere <= set(TSV_ROWS)
    assert {name for name, one in BENCHMARKS.items() if one.layout.hub} - set(HUB_ROWS) <= {
        "hrbench-8k", "cv-bench-3d", "ai2d-test-no-mask"
    }  # fmt: skip


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png())


def test_sugarcrepe_and_countercurate_from_their_own_files(tmp_path: Path) -> None:
    crepe, curate = tmp_path / "sugar-crepe", tmp_path / "CounterCurate"
    for path in (crepe / "val2017/1.jpg", curate / "visual_genome/5.jpg", curate / "a.jpg", curate / "b.jpg"):
        picture(path)
    (crepe / "data").mkdir()
    (curate / "clip_sample_data").mkdir()
    item = {"filename": "1.jpg", "caption": "a cat on a mat", "negative_caption": "a mat on a cat"}
    (crepe / "data/swap_obj.json").write_text(json.dumps({str(place): item for place in range(20)}))
    frame = pd.DataFrame([{"captions": "left", "images": "a.jpg", "neg_captions": "right", "neg_images": "b.jpg"}])
    frame.to_csv(curate / "clip_sample_data/test_left_right_.csv", sep="\t", index=False)
    (curate / "vg_dict.json").write_text(json.dumps({"5": [{"name": "dogs", "ans": "2"}]}))
    pairs = open_benchmark("sugarcrepe", tmp_path, media=MediaStore())
    check_gold_is_right(pairs)
    assert {row.answer for row in pairs.rows} == {"A", "B"}
    curated = open_benchmark("countercurate", tmp_path, media=MediaStore())
    assert [row.options[row.answer] for row in curated.rows] == ["left", "right", "There are 2 dogs."]
    (crepe / "data/swap_obj.json").write_text('{"0": {"caption": "a"}}')
    with pytest.raises(UserError, match=r"swap_obj\.json, question '0': must have filename"):
        open_benchmark("sugarcrepe", tmp_path, media=MediaStore())


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
