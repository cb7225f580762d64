"""Small releases of the data sets on documents, as their own code writes them; questions and pictures are our own."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def picture(colour: str) -> Mapping[str, object]:
    """As the hub's data sets hold a picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(buffer, format="PNG")
    return {"bytes": buffer.getvalue(), "path": f"{colour}.png"}


def json_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)


def slide(number: int, question: str, answer: str, pages: Sequence[int]) -> Mapping[str, object]:
    return {
        "deck_name": "growth-of-teashops-95",
        "deck_url": "https://example.org/teashops",
        "image_urls": [f"https://example.org/teashops/95/slide-{page}-1024.jpg" for page in range(1, 21)],
        "qa_id": number,
        "question": question,
        "answer": answer,
        "arithmetic_expression": "None",
        "evidence_pages": list(pages),
        "reasoning_type": "Multi-Hop" if len(pages) > 1 else "Single-Hop",
        "answer_type": "Single-Span",
    }


def slidevqa(root: Path) -> Path:
    rows = [
        slide(11, "How many teashops opened in 2012?", "twelve teashops", [7]),
        slide(12, "Which town has more teashops than Leeds on the map?", "York", [3, 20]),
    ]
    json_lines(root / "annotations/qa/dev.jsonl", rows)
    return root


def slidevqa_hub(root: Path) -> Path:
    pages = {f"page_{page}": picture("red" if page == 7 else "blue") for page in range(1, 21)}
    table(root / "data/test-00000-of-00001.parquet", [{**slide(11, "How many?", "12", [7]), **pages}])
    return root


def vidoseek(root: Path) -> Path:
    rows = [
        {
            "uid": "04d8_2",
            "query": "At what temperature is tea brewed for both leaves?",
            "reference_answer": "95-100 Centigrade",
            "meta_info": {
                "file_name": "Brewing_of_Tea.pdf",
                "reference_page": [10, 11],
                "source_type": "Text",
                "query_type": "Multi-Hop",
            },
        }
    ]
    (root / "vidoseek.json").write_text(json.dumps({"examples": rows}, indent=4), encoding="utf-8")
    return root


def mmlongbench(root: Path) -> Path:
    def row(question: str, answer: str, pages: str, sources: str, answer_format: str) -> Mapping[str, str]:
        return {
            "doc_id": "TEA_2016.06.08_Report.pdf",
            "doc_type": "Research report / Introduction",
            "question": question,
            "answer": answer,
            "evidence_pages": pages,
            "evidence_sources": sources,
            "answer_format": answer_format,
        }

    rows = [
        row("Who drinks most tea?", "The retired", "[5]", "['Chart']", "Str"),
        row("How many charts are there?", "6", "[4, 7]", "['Chart', 'Generalized-text (Layout)']", "Int"),
        row("Which share drinks tea?", "18.29%", "[3, 5]", "['Pure-text (Plain-text)']", "Float"),
        row("Which teas are named?", "['Assam', 'Earl Grey']", "[11]", "['Table']", "List"),
        row("Which logo is on the cover?", "Blue", "[0]", "['Figure']", "Str"),
        row("How many coffees on page 9?", "Not answerable", "[9]", "['Figure']", "None"),
        row("How many horses are shown?", "0", "[]", "[]", "Int"),
        row("When did it begin?", "14:04 CET", "[2]", "['Table']", "Int"),
    ]
    (root / "data").mkdir()
    (root / "data/samples.json").write_text(json.dumps(rows, indent=4), encoding="utf-8")
    return root


def opendocvqa(root: Path) -> Path:
    instruction = "Instruct: I’m looking for an image that answers the question.\nQuery: "
    rows = [
        {
            "query_id": "slidevqa_17",
            "query": f"{instruction}What is brewed in 2017?",
            "answers": ["green tea", "tea"],
            "relevant_doc_ids": ["deck-95_7", "deck-95_9"],
        }
    ]
    table(root / "data/test-00000-of-00001.parquet", rows)
    return root


def bars(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="|", lineterminator="\n").writerows(rows)
    return path.parent


def fetatab(root: Path) -> Path:
    head = ["doc_name", "q_uid", "question", "answer", "doc_url"]
    asked = ["Tea (drink)", "14717", 'When was "tea" first sold?', "In 1657, tea was sold\nin London.", "http://x"]
    return bars(root / "feta_qa.csv", [head, asked])


def papertab(root: Path) -> Path:
    head = ["doc_name", "q_uid", "question", "answer_1", "answer_2", "answer_3"]
    rows = [
        ["1912.01214", "5eda", "which teas are explored?", "Assam, Ceylon", "Ceylon and Assam", " "],
        ["1912.01215", "5edb", "is it green?", "Yes", "", ""],
    ]
    return bars(root / "paper_tab_qa.csv", [head, *rows])


def lang2act(root: Path) -> Path:
    rows: list[Mapping[str, object]] = [
        {
            "uid": "04d8_2",
            "query": "At what temperature is tea brewed?",
            "answer": "95-100 Centigrade",
            "top3_image_paths": ["img/Tea_9.jpg", "img/Tea_10.jpg", "img/Milk_1.jpg"],
            "gt_image_paths": ["img/Tea_10.jpg", "img/Tea_11.jpg"],
            "meta_info": {"query_type": "Multi-Hop"},
        },
        {
            "qa_id": 7,
            "question": "How many coffees are there?",
            "answer": "Not answerable",
            "retrieved_image_paths": ["img/Milk_1.jpg"],
            "evidence_sources": "['Table']",
        },
    ]
    json_lines(root / "top3_test.jsonl", rows)
    colours = {"img/Tea_9.jpg": "red", "img/Tea_10.jpg": "green", "img/Milk_1.jpg": "white"}
    pictures = [{"uid": "04d8_2", "relpath": path, "image": picture(colour)} for path, colour in colours.items()]
    pictures.append({"uid": "7", "relpath": "img/Milk_1.jpg", "image": picture("blue")})
    pq.write_table(pa.Table.from_pylist(pictures), root / "images.parquet", row_group_size=2)
    return root


DOCUMENT_RELEASES: Mapping[str, tuple[str, Callable[[Path], Path]]] = {
    "slidevqa": ("validation", slidevqa),
    "vidoseek": ("test", vidoseek),
    "mmlongbench-doc": ("test", mmlongbench),
    "opendocvqa": ("test", opendocvqa),
    "fetatab": ("test", fetatab),
    "papertab": ("test", papertab),
    "lang2act": ("test", lang2act),
}
