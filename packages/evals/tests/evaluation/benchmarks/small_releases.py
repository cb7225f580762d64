"""Small files of each benchmark in its release's true layout, for tests and ``benchmarks/suites.py``."""

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import av
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from saccade.evaluation.benchmarks import BENCHMARKS


def png(shade: int = 9, size: tuple[int, int] = (12, 12)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(buffer, "PNG")
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
    "mme-realworld": {
        **OPTIONS,
        **{"C": "green", "D": "grey", "E": "none of them"},
        "multi-choice options": "The choices are listed below:\n(A) red\n(B) blue",
        "l2-category": "l",
    },
    "mme-realworld-cn": {
        **OPTIONS,
        **{"C": "绿", "D": "灰", "E": "无"},
        "multi-choice options": "选项如下所示:\n(A) red\n(B) blue",
        "l2-category": "l",
    },
    "vlmsareblind": {
        "index": 0,
        "image": TEXT,
        "question": "How many? Say {2}.",
        "answers": "3",
        "task": "Nested Squares",
    },
    "zerobench": {"index": 0, "image": TEXT, "question": "How many?", "answers": "14"},
    "zerobench-subquestions": {"index": 0, "image": TEXT, "question": "How many?", "answers": "14"},
    "visulogic": {**OPEN, "answer": "B", "category": "Spatial Reasoning"},
    "erqa": {**OPEN, "question": "<image> Which? A. red. B. blue.", "answer": "B", "category": "Task Reasoning"},
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
    **{
        name: {"index": 1, "question": "Which?", "multi-choice options": ["(A) red", "(B) blue"], "answer": "B"}
        | {"category": "Perception/OCR", "l2-category": "l", "bytes": TEXT}
        for name in ("mme-realworld", "mme-realworld-cn", "mme-realworld-lite")
    },
    "vlmsareblind": {"task": "Circled Letter", "image": {"bytes": png()}, "prompt": "Which letter? {o}"}
    | {"groundtruth": "l", "metadata": "{}"},
    **{
        name: {"question_id": "1", "question_text": "How many?", "question_answer": "14", "image_attribution": "own"}
        | {"question_images": ["images/1_0.png"], "question_images_decoded": [{"bytes": png()}, {"bytes": png(7)}]}
        for name in ("zerobench", "zerobench-subquestions")
    },
    "babyvision": {"taskId": 445, "type": "Visual Tracking", "subtype": "Maze", "question": "Which?"}
    | {"image": {"bytes": png()}, "ansType": "choice", "options": ["red", "blue"], "choiceAns": 1, "blankAns": None},
    "erqa": {"question_id": "ERQA_1", "question": "Which? A. red. B. blue.", "question_type": "Task", "answer": "B"}
    | {"visual_indices": [0], "images": [{"bytes": png()}]},
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
    **{
        name: {"sample_id": "s_1", "query": "When is it?", "query_image": {"bytes": png()}, "area": "news"}
        | {"image_search_result": {"bytes": png(7)}, "subfield": "sports", "gt_requery": "when is the final"}
        | {"gt_answer": "2024-08-11", "alternative_gt_answers": ["August 11"]}
        for name in ("mmsearch", "mmsearch-requery")
    },
    "mmsearch-rerank": {"sample_id": "s_1", "query": "When is it?", "query_image": {"bytes": png()}, "area": "news"}
    | {"image_search_result": {"bytes": png(7)}, "subfield": "sports", "valid": [2], "not_sure": [0], "invalid": [1]}
    | {
        f"website{place}_{name}": value
        for place in range(8)
        for name, value in {
            "info": {"title": f"T{place}", "snippet": f"S{place}", "url": f"https://{place}.org"},
            "head_screenshot": {"bytes": png(place)},
        }.items()
    },
    "mmsearch-summarization": {"sample_id": "s_1", "query": "When is it?", "query_image": {"bytes": png()}}
    | {"image_search_result": {"bytes": png(7)}, "area": "news", "subfield": "sports", "gt_answer": "2024-08-11"}
    | {"alternative_gt_answers": ["August 11"], "website_title": "T", "website_snippet": "S"}
    | {"website_retrieved_content": "It is on August 11."}
    | {"website_fullpage_screenshot": {"bytes": png(size=(12, 1100))}},
    "slidevqa-test": {"qa_id": 1, "question": "How many?", "answer": "14", "deck_name": "d"}
    | {f"page_{number}": {"bytes": png(number)} for number in range(1, 21)},
}  # fmt: skip


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png())


def numbered(row: Mapping[str, object], count: int) -> list[dict[str, object]]:
    """So many rows with an index of their own."""
    keys = [key for key in ("index", "id", "question_id", "pid", "idx", "sample_id") if key in row]

    def named(value: object, place: int) -> object:
        if isinstance(value, int):
            return value + place
        text = str(value)
        # HallusionBench's index names set, figure and question: VD_chart_0_1_2_0.
        return f"{text.rpartition('_')[0]}_{place}" if "_" in text else f"{text}{place}"

    return [{**row, **{key: named(row[key], place) for key in keys}} for place in range(count)]


def write_tsv(name: str, root: Path, count: int = 1) -> None:
    """The benchmark's file as VLMEvalKit publishes it."""
    file = BENCHMARKS[name].layout.releases[0].file
    pd.DataFrame(numbered(TSV_ROWS[name], count)).to_csv(root / file, sep="\t", index=False)


def write_parquet(name: str, root: Path, count: int = 1) -> None:
    """The hub's folder."""
    layout = BENCHMARKS[name].layout
    folder = root / layout.hub.rpartition("/")[2] / "data"
    folder.mkdir(parents=True, exist_ok=True)
    rows = numbered(HUB_ROWS[name], count)
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{layout.split}-00000-of-00001.parquet")


def write_sugar_crepe(root: Path, count: int = 20) -> None:
    """As its repository has it, beside COCO's pictures."""
    crepe = root / "sugar-crepe"
    picture(crepe / "val2017/1.jpg")
    (crepe / "data").mkdir()
    item = {"filename": "1.jpg", "caption": "a cat on a mat", "negative_caption": "a mat on a cat"}
    (crepe / "data/swap_obj.json").write_text(json.dumps({str(place): item for place in range(count)}))


def write_counter_curate(root: Path) -> None:
    """As its repository has it: a question of places in both ways, and one of a number."""
    curate = root / "CounterCurate"
    for path in ("visual_genome/5.jpg", "a.jpg", "b.jpg"):
        picture(curate / path)
    (curate / "clip_sample_data").mkdir()
    frame = pd.DataFrame([{"captions": "left", "images": "a.jpg", "neg_captions": "right", "neg_images": "b.jpg"}])
    frame.to_csv(curate / "clip_sample_data/test_left_right_.csv", sep="\t", index=False)
    (curate / "vg_dict.json").write_text(json.dumps({"5": [{"name": "dogs", "ans": "2"}]}))


JSON_RELEASES: dict[str, tuple[str, dict[str, object]]] = {
    **{
        f"visualprobe-{level.lower()}": (
            f"VisualProbe_{level}/val.json",
            {"images": [f"VisualProbe_{level}/data/1.jpg"], "doc_id": "1", "problem": "<image>\nWhat color?"}
            | {"solution": "White.", "data_source": f"visual_probe_{level.lower()}"},
        )
        for level in ("Easy", "Medium", "Hard")
    },
    "tir-bench": (
        "TIR-Bench/TIR-Bench.json",
        {"id": 1, "task": "jigsaw", "prompt": "In what order?", "answer": "2, 1, 3, 4", "image_1": "data/1.jpg"}
        | {"image_2": None, "meta_data": {"difficulty": 2}},
    ),
    "o3-bench": (
        "O3-Bench/test/metadata.jsonl",
        {"file_name": "images/map/1.jpg", "subset": "map", "question": "Which?", "options": "A. red\nB. blue\nC. none"}
        | {"answer": "B", "explanation": "Step 1.", "target_layouts": [2], "img_width": 12, "img_height": 12}
        | {"layout_infos": {str(one): {"layout_id": one, "bbox": [1.0, 2.0, 3.0 * one, 5.5]} for one in (1, 2)}},
    ),
    "agentic-mme": (
        "Agentic-MME/json/0009.json",
        {"task_id": "0009", "input": {"prompt": "How many?", "image": "images/image_0009.png"}}
        | {"golden_answer": {"value": "14"}, "meta": {"level": "L1", "domain": "Life"}}
        | {"process_evaluation": {"checkpoints": []}},
    ),
    "vstar": (
        "vstar_bench/direct_attributes/sa_1.json",
        {
            "target_object": ["hat"],
            "bbox": [[4, 5, 3, 2]],
            "question": "Which?",
            "options": ["It is red.", "It is blue."],
        },
    ),
    "visulogic": (
        "VisuLogic/data.jsonl",
        {"image_path": "images/00000.png", "question": "Which of A to D?", "label": "B", "id": "00000"}
        | {"tag": "Spatial Reasoning"},
    ),
    "babyvision": (
        "babyvision_data/meta_data.jsonl",
        {"taskId": 1, "type": "Visual Tracking", "subtype": "Maze", "image": "images/1.png", "question": "Where?"}
        | {"ansType": "blank", "options": [], "choiceAns": None, "blankAns": "(2,3)"},
    ),
    "screenspot-v2": (
        "ScreenSpot-v2/screenspot_web_v2.json",
        {"img_filename": "web_1.png", "bbox": [4, 5, 3, 2], "instruction": "save", "data_type": "icon"}
        | {"data_source": "shop"},
    ),
    "screenspot-pro": (
        "ScreenSpot-Pro/annotations/blender.json",
        {"img_filename": "blender/1.png", "bbox": [4, 5, 7, 9], "instruction": "save", "id": "b_1", "ui_type": "text"}
        | {"application": "blender", "platform": "windows", "img_size": [12, 12], "group": "Creative"},
    ),
}
"""The file of each release in JSON, and a row of it; a picture named in it lies in its folder."""


def write_json_release(name: str, root: Path, count: int = 1) -> None:
    """The release's folder, with so many rows of one picture."""
    file, row = JSON_RELEASES[name]
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = ("doc_id", "id", "taskId")
    rows = [{**row, **{key: f"{row[key]}{place}" for key in keys if key in row}} for place in range(count)]
    lines = path.suffix == ".jsonl"
    whole = count > 1 or not {"task_id", "target_object"} & row.keys()
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows if whole else row)
    path.write_text(text)
    for row in BENCHMARKS[name].layout.release_rows(root / Path(file).parts[0]):
        for one in row["image_path"].strip("[]").replace("'", "").split(", "):
            picture(root / Path(file).parts[0] / one)


def mp4(frames: int = 40) -> bytes:
    """Ten frames a second of 16 x 16 pixels, each brighter than the one before."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 16, 16, "yuv420p"
        for place in range(frames):
            picture = Image.new("RGB", (16, 16), (place * 250 // frames,) * 3)
            container.mux(stream.encode(av.VideoFrame.from_image(picture)))
        container.mux(stream.encode(None))
    return file.getvalue()


VIDEO_OPTIONS = "A. red.\nB. blue.\nC. green.\nD. grey.\nE. black.\nF. white.\nG. brown.\nH. none of them."


def write_video_mme(root: Path, videos: int = 2) -> None:
    """Video-MME-v2 as it is once its archives are unpacked: a group of each kind, in turn."""
    folder = root / "Video-MME-v2"
    for name in ("videos", "subtitle"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    rows = []
    for video in range(1, videos + 1):
        (folder / f"videos/{video:03d}.mp4").write_bytes(mp4())
        words = [{"text": word, "start_time": 0.5, "end_time": 0.8} for word in ("Hello", "world")]
        (folder / f"subtitle/{video:03d}.jsonl").write_text("\n".join(map(json.dumps, words)))
        kind = {"group_type": "logic", "group_structure": "[1, [2, 3], 4]"}
        kind = {"group_type": "relevance", "group_structure": "None"} if video % 2 else kind
        rows += [
            {"video_id": f"{video:03d}", "url": "https://youtu.be/x", "question_id": f"{video:03d}-{place}", **kind}
            | {"question": "What is it?", "options": VIDEO_OPTIONS, "answer": "ABCD"[place - 1], "level": "2"}
            | {"second_head": "Order", "third_head": "Steps"}
            for place in range(1, 5)
        ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")


OWN_FILES: Mapping[str, Callable[[Path], None]] = {
    **{name: partial(write_json_release, name) for name in JSON_RELEASES if name != "vstar"},
    "sugarcrepe": write_sugar_crepe,
    **dict.fromkeys(("video-mme-v2", "video-mme-v2-subtitles"), write_video_mme),
    "countercurate": write_counter_curate,
}


def write_release(name: str, root: Path, count: int = 3) -> None:
    """The benchmark's file, or folder, with a few questions: its TSV where it has one."""
    if name in OWN_FILES:
        OWN_FILES[name](root)
    elif name in TSV_ROWS:
        write_tsv(name, root, count)
    else:
        write_parquet(name, root, count)


def write_releases(names: Sequence[str], root: Path) -> None:
    """All of them below one folder."""
    for name in names:
        write_release(name, root)
