"""Small releases laid out as the own code and downloads of the sets have them; questions and pictures are ours."""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from releases import DIAGRAM, hub_image, parquet, picture, write

Expected = dict[str, str]
"""Each question and its answer."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A release in a folder, and what is asked in one of its splits."""

    data_set: str
    split: str
    write: Callable[[Path], object]
    asks: Expected


def _clevr_math(root: Path, split: str, images: str) -> Path:
    """As the generator of the questions writes them: the picture with its extension and without."""
    row = {
        "split": split,
        "image_filename": f"CLEVR_{split}_000007.png",
        "image_index": 7,
        "image": f"CLEVR_{split}_000007",
        "question": "Subtract all balls. How many objects are left?",
        "program": [],
        "answer": 4,
        "template_filename": "subtraction.json",
        "question_family_index": 0,
        "question_index": 0,
    }
    questions = {f"clevr-math-{split}.json": {"info": {"split": split}, "questions": [row]}}
    return write(root, {**questions, f"{images}/CLEVR_{split}_000007.png": picture()})


_LEFT = {"Subtract all balls. How many objects are left?": "4"}


def _document(number: int, question: str, key: str, image: str) -> dict[str, object]:
    return {"questionId": number, "question": question, key: image, "answers": ["40"], "data_split": "train"}


def _docvqa(root: Path, rows_at: str, images_at: str) -> Path:
    rows = [_document(1, "What is the total?", "image", "documents/xnbl0037_1.png")]
    data = {"dataset_name": "docvqa", "dataset_split": "train", "data": rows}
    return write(root, {rows_at: data, f"{images_at}/xnbl0037_1.png": picture()})


def _infographicvqa(root: Path, rows_at: str, images_at: str) -> Path:
    rows = [_document(2, "What share is it?", "image_local_name", "20471.jpeg")]
    data = {"dataset_name": "infographicVQA", "data": rows}
    return write(root, {rows_at: data, f"{images_at}/20471.jpeg": picture()})


def _scienceqa(root: Path) -> Path:
    def problem(question: str, image: str | None) -> dict[str, object]:
        return {
            "question": question,
            "choices": ["ice", "water"],
            "answer": 1,
            "hint": "",
            "image": image,
            "task": "closed choice",
            "split": "train",
        }

    problems = {"1": problem("Which flows?", "image.png"), "4": problem("Which melts?", "choice_0.png")}
    return write(
        root,
        {
            "data/captions.json": {"captions": {}},
            "data/scienceqa/problems.json": problems,
            "data/scienceqa/pid_splits.json": {"train": ["1", "4"], "val": [], "test": [], "minitrain": ["4"]},
            "data/scienceqa/images/train/1/image.png": picture(),
            "data/scienceqa/images/train/4/choice_0.png": picture("blue"),
        },
    )


def _ai2d(root: Path, folder: str, ids: str) -> Path:
    def diagram(name: str, question: str) -> dict[str, object]:
        about = {"abcLabel": False, "answerTexts": ["ear", "eye"], "correctAnswer": 1, "questionId": f"{name}-0"}
        return {"imageName": name, "questions": {question: about}}

    return write(
        root,
        {
            f"{folder}questions/0.png.json": diagram("0.png", "Which part sees?"),
            f"{folder}questions/10.png.json": diagram("10.png", "Which part looks?"),
            f"{folder}images/0.png": picture(),
            f"{folder}images/10.png": picture("blue"),
            ids: b"10\n12\n",
        },
    )


def _mapqa(root: Path) -> Path:
    files: dict[str, object] = {}
    for part in ("MapQA_S", "MapQA_U", "MapQA_V"):
        row = {
            "map_id": "map_0.png",
            "question_type": "retrieval",
            "question_template_id": "retrieval_1",
            "question": f"Which states of {part} have the value ?",
            "answer": ["Ohio", "Utah"],
            "question_id": 5,
        }
        count = {**row, "question": f"How many states of {part} ?", "answer": 12, "question_id": 6}
        files |= {f"{part}/questions/dev-QA.json": [row, count], f"{part}/images/map_0.png": picture()}
        files |= {f"{part}/usa_geo.json": {}, f"{part}/questions/answer_vocab.json": {}}
    return write(root, files)


def _clevr(root: Path) -> Path:
    row = {
        "image_filename": "CLEVR_val_000000.png",
        "question_index": 0,
        "split": "val",
        "answer": "yes",
        "question": "Are there balls?",
    }
    return write(
        root,
        {
            "CLEVR_v1.0/questions/CLEVR_val_questions.json": {"info": {}, "questions": [row]},
            "CLEVR_v1.0/images/val/CLEVR_val_000000.png": picture(),
            "CLEVR_v1.0/scenes/CLEVR_val_scenes.json": {},
        },
    )


def _mathv360k(root: Path) -> Path:
    def row(asked: str, said: str) -> dict[str, object]:
        turns = [{"from": "human", "value": f"<image>\n{asked}"}, {"from": "gpt", "value": said}]
        return {"id": "identity", "image": "TabMWP/images/2.png", "conversations": turns}

    hint = "Hint: Please answer the question and provide the correct option letter, e.g., A, B, C, D, at the end.\n"
    rows = [
        row(f"{hint}Question: Find x.\nChoices:\n(A) 25 (B) 30 (C) 35", "The answer is B"),
        row(f"{hint}Question: Find y.\nChoices: (A) 2 (B) 3", "The answer is A"),
        row(f"{hint}Question: Which holds?\nChoices:\n(A) all of\nthese\n(B) none of\nthem", "Answer: (B)"),
        row("Question: How many (A) are there?", "The answer is 7."),
    ]
    return write(root, {"train_samples_all_tuning.json": rows, "data_images/TabMWP/images/2.png": picture()})


def _pickle(root: Path, name: str, image: np.ndarray, protocol: int, **row: object) -> Path:
    rows = [{"id": 7, "label": np.int64(2), "image": image, "choice_nums": [np.float32(1), 2.0, 3.5, 4.0], **row}]
    return write(root, {name: pickle.dumps(rows, protocol=protocol)})


def _geometry3k(root: Path) -> Path:
    older = {
        "problem_text": "Find A C.",
        "choices": ["6", "8", "12", "24"],
        "answer": "C",
        "problem_type_graph": ["Circle"],
        "problem_type_goal": ["Length"],
        "id": 11,
        "img_width": 250,
        "data_type": "val",
    }
    base = "data/geometry3k/val/11"
    return write(
        root, {f"{base}/data.json": older, f"{base}/img_diagram.png": picture(), "data/geometry3k/val.zip": b""}
    )


def _geometry3k_on_hub(root: Path) -> Path:
    row: dict[str, object] = {"images": [hub_image()], "problem": "<image>Find x.", "answer": "2 \\sqrt { 3 }"}
    return parquet(root / "data/train-00000-of-00001.parquet", [row])


def _tabmwp(root: Path) -> Path:
    problem = {"question": "How many pies?", "choices": None, "answer": "1,230", "unit": None, "split": "test"}
    base = "data/tabmwp"
    return write(root, {f"{base}/problems_test1k.json": {"17": problem}, f"{base}/tables/17.png": picture()})


def _chartqa(root: Path) -> Path:
    base = "ChartQA/ChartQA Dataset/val"
    rows = [{"imgname": "1.png", "query": "Which is the highest?", "label": "Peru"}]
    return write(
        root, {f"{base}/val_human.json": rows, f"{base}/val_augmented.json": [], f"{base}/png/1.png": picture()}
    )


def _iconqa(root: Path) -> Path:
    base = "data/iconqa_data/iconqa/test/fill_in_blank/12"
    blank = {"question": "How many stars?", "answer": "7", "ques_type": "fill_in_blank"}
    return write(root, {f"{base}/data.json": blank, f"{base}/image.png": picture(), "data/pid_splits.json": {}})


_COLUMNS = np.asfortranarray(DIAGRAM)
_CHINESE = "求角的度数"

TREES: dict[str, Tree] = {
    "clevr-math, both names of a picture": Tree(
        data_set="clevr-math",
        split="train",
        write=lambda root: _clevr_math(root, "train", "CLEVR_v1.0/images/train"),
        asks=_LEFT,
    ),
    "clevr-math, pictures of the test from their own archive": Tree(
        data_set="clevr-math",
        split="test",
        write=lambda root: _clevr_math(root, "test", "clevr-math-test-images/CLEVR_v1.0/images/test"),
        asks=_LEFT,
    ),
    "docvqa, flat pictures": Tree(
        data_set="docvqa",
        split="train",
        write=lambda root: _docvqa(root, "spdocvqa_qas/train_v1.0_withQT.json", "spdocvqa_images"),
        asks={"What is the total?": "40"},
    ),
    "docvqa, a folder for each split": Tree(
        data_set="docvqa",
        split="train",
        write=lambda root: _docvqa(root, "train/train_v1.0.json", "train/documents"),
        asks={"What is the total?": "40"},
    ),
    "infographicvqa, its own folders": Tree(
        data_set="infographicvqa",
        split="validation",
        write=lambda root: _infographicvqa(
            root, "InfographicVQA/infographicsvqa_qas/infographicsVQA_val_v1.0_withQT.json",
            "InfographicVQA/infographicsvqa_images",
        ),
        asks={"What share is it?": "40"},
    ),
    "infographicvqa, images and qas": Tree(
        data_set="infographicvqa",
        split="train",
        write=lambda root: _infographicvqa(root, "qas/infographicVQA_train_v1.0.json", "images"),
        asks={"What share is it?": "40"},
    ),
    "scienceqa, its repository": Tree(
        data_set="scienceqa", split="train", write=_scienceqa, asks={"Which flows?": "B", "Which melts?": "B"}
    ),
    "scienceqa, a smaller split": Tree(
        data_set="scienceqa", split="minitrain", write=_scienceqa, asks={"Which melts?": "B"}
    ),
    "ai2d, test": Tree(
        data_set="ai2d",
        split="test",
        write=lambda root: _ai2d(root, "", "ai2d_test_ids.csv"),
        asks={"Which part looks?": "B"},
    ),
    "ai2d, train, the list beside the folder": Tree(
        data_set="ai2d",
        split="train",
        write=lambda root: _ai2d(root, "ai2d/", "ai2d_test_ids.csv"),
        asks={"Which part sees?": "B"},
    ),
    "mapqa, three parts": Tree(
        data_set="mapqa",
        split="validation",
        write=_mapqa,
        asks={
            question: answer
            for part in ("MapQA_S", "MapQA_U", "MapQA_V")
            for question, answer in (
                (f"Which states of {part} have the value ?", "Ohio, Utah"),
                (f"How many states of {part} ?", "12"),
            )
        },
    ),
    "clevr, the folder above": Tree(
        data_set="clevr", split="validation", write=_clevr, asks={"Are there balls?": "yes"}
    ),
    "mathv360k, options on one line and over several": Tree(
        data_set="mathv360k",
        split="train",
        write=_mathv360k,
        asks={"Find x.": "B", "Find y.": "A", "Which holds?": "(B)", "How many (A) are there?": "7"},
    ),
    "geoqa, diagrams that lie by columns": Tree(
        data_set="geoqa",
        split="train",
        write=lambda root: _pickle(
            root, "data/GeoQA3/train.pk", _COLUMNS, 2, subject=_CHINESE, choices=["1", "2", "3.5", "4"]
        ),
        asks={_CHINESE: "C"},
    ),
    "unigeo, coloured diagrams by columns": Tree(
        data_set="unigeo",
        split="train",
        write=lambda root: _pickle(
            root,
            "datasets/UniGeo/calculation_train.pk",
            np.asfortranarray(np.stack([DIAGRAM] * 3, axis=2)),
            5,
            English_problem="Find the angle.",
        ),
        asks={"Find the angle.": "C"},
    ),
    "geometry3k, its repository and older rows": Tree(
        data_set="geometry3k", split="validation", write=_geometry3k, asks={"Find A C.": "C"}
    ),
    "geometry3k, rows without options": Tree(
        data_set="geometry3k", split="train", write=_geometry3k_on_hub, asks={"Find x.": "2 \\sqrt { 3 }"}
    ),
    "tabmwp, its repository": Tree(
        data_set="tabmwp", split="test1k", write=_tabmwp, asks={"How many pies?": "1,230"}
    ),
    "chartqa, its repository": Tree(
        data_set="chartqa", split="validation", write=_chartqa, asks={"Which is the highest?": "Peru"}
    ),
    "iconqa, its repository": Tree(data_set="iconqa", split="test", write=_iconqa, asks={"How many stars?": "7"}),
}  # fmt: skip


def broken(name: str) -> tuple[str, Callable[[Path], Path]]:
    """A release of which one row is broken, and its split."""
    row = {"questionId": 1, "question": "What?", "image": "documents/none.png", "answers": ["1"]}
    trees: dict[str, tuple[str, Callable[[Path], Path]]] = {
        "docvqa": ("train", lambda root: write(root, {"spdocvqa_qas/train_v1.0.json": {"data": [row]}})),
        "super-clevr": (
            "train",
            lambda root: write(root, {"superCLEVR_questions_30k.json": {"questions": [{"question": "?"}]}}),
        ),
        "wemath": (
            "test",
            lambda root: write(root, {"testmini.json": [{"question": "?", "option": "25 or 30", "answer": "A"}]}),
        ),
        "tqa": (
            "train",
            lambda root: write(root, {"train/tqa_v1_train.json": [{"questions": {"diagramQuestions": {"1": 3}}}]}),
        ),
        "arxivqa": ("train", lambda root: write(root, {"arxivqa.jsonl": json.dumps({"options": ["A"]}).encode()})),
    }
    return trees[name]
