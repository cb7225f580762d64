"""VLMEvalKit's TSV as its code and pandas write it, and what is told of a file that is none."""

import base64
import hashlib
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.evaluation.benchmarks import open_benchmark
from saccade.evaluation.benchmarks.tsv import TsvFile
from saccade.media.store import MediaStore


def encoded(shade: int, side: int = 16) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (shade, shade, shade)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def written(folder: Path, rows: list[dict[str, object]], name: str = "VStarBench.tsv") -> Path:
    """As the release's own code writes it: ``DataFrame.to_csv`` with tabs."""
    path = folder / name
    pd.DataFrame(rows).to_csv(path, sep="\t", index=False)
    return path


def asked(index: object, image: object, **columns: object) -> dict[str, object]:
    return {"index": index, "image": image, "question": "Which?", "A": "red", "B": "blue", "answer": "B", **columns}


def test_a_picture_may_be_a_list_and_another_rows_even_a_later_ones(tmp_path: Path) -> None:
    rows = [asked(0, "2"), asked(1, encoded(1)), asked(2, str([encoded(2), encoded(3)])), asked(3, "1")]
    opened = open_benchmark("vstar", written(tmp_path, rows), media=MediaStore())
    first, second, third, fourth = (row.task.images for row in opened.rows)
    assert [len(images) for images in (first, second, third, fourth)] == [2, 1, 2, 1]
    assert (first, fourth) == (third, second)


def test_a_list_of_pictures_may_be_written_as_json(tmp_path: Path) -> None:
    path = written(tmp_path, [asked(0, json.dumps([encoded(1), encoded(2)]))])
    media = MediaStore()
    (row,) = open_benchmark("vstar", path, media=media).rows
    assert [media.get(image).getpixel((0, 0)) for image in row.task.images] == [(1, 1, 1), (2, 2, 2)]


def test_text_comes_back_as_pandas_wrote_it(tmp_path: Path) -> None:
    text = 'He said: "no",\nthen\ttwo "" quotes; ünïcödé 🙂'
    opened = open_benchmark("vstar", written(tmp_path, [asked("a b", encoded(1), question=text)]), media=MediaStore())
    assert opened.rows[0].task.question == text
    assert opened.rows[0].task.id == "vstar/a b"


def test_a_field_may_be_longer_than_the_csv_module_allows(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((500, 500), 90).convert("RGB").save(buffer, "PNG")
    path = written(tmp_path, [asked(0, base64.b64encode(buffer.getvalue()).decode())])
    media = MediaStore()
    opened = open_benchmark("vstar", path, media=media)
    assert path.stat().st_size > 131_072
    assert media.get(opened.tasks[0].images[0]).size == (500, 500)


def test_pictures_are_read_again_from_the_file_and_not_held(tmp_path: Path) -> None:
    path = written(tmp_path, [asked(0, encoded(7, side=40))])
    file = TsvFile(path)
    (row,) = file.rows()
    with path.open("rb") as raw:
        raw.seek(row.spans[0].start)
        assert raw.read(row.spans[0].length).decode() == encoded(7, side=40)
    assert file.md5 == hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    media = MediaStore(cache_bytes=0)
    opened = open_benchmark("vstar", path, media=media)
    path.write_bytes(path.read_bytes().replace(encoded(7, side=40).encode(), encoded(8, side=40).encode()))
    with pytest.raises(ValueError, match="changed since"):
        media.get(opened.tasks[0].images[0])


def test_rows_without_a_picture_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, [asked(0, encoded(1)), asked(1, None)])
    assert open_benchmark("vstar", path, media=MediaStore()).left_out == {"no image": 1}


def test_a_file_of_pictures_by_path(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    for shade in (1, 2):
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / "img" / f"{shade}.png")
    rows = [
        {"index": "among_1", "image_path": "['img/1.png', 'img/2.png']", "input_prompt": "<image><image>Which?"}
        | {"answer": "B", "category": "among"},
        {"index": "around_2", "image_path": "img/2.png", "input_prompt": "Which?", "answer": "A", "category": "around"},
    ]
    path = written(tmp_path, rows, "MindCubeBench_tiny_raw_qa.tsv")
    opened = open_benchmark("mindcube-tiny", path, media=MediaStore())
    assert [len(task.images) for task in opened.tasks] == [2, 1]


WRONG = [
    ("", "the file is empty"),
    ("question\tanswer\nQ\tA\n", "index among them"),
    ("index\tindex\n1\t2\n", "each column once"),
    ("index\tquestion\n1\tQ\n", "is no file of V"),
    ("index\tquestion\tanswer\tA\tB\timage\n1\tQ\tA\tx\n", "line 2: 4 columns"),
    ('index\tquestion\tanswer\tA\tB\timage\n1\t"Q\tA\tx\ty\tz\n', "column 2 never ends"),
    ("index\tquestion\tanswer\tA\tB\timage\n1\tQ\tA\tx\ty\t7\n", "line 2, column 'image': '7'"),
    (f"index\tquestion\tanswer\tA\tB\timage\n1\tQ\tC\tx\ty\t{'x' * 80}\n", "line 2, column 'image'"),
    (f"index\tquestion\tanswer\tA\tB\timage\n1\tQ\tC\tx\ty\t{encoded(1)}\n", "line 2, column 'answer': 'C'"),
    (f"index\tquestion\tanswer\tA\tB\timage\n\tQ\tA\tx\ty\t{encoded(1)}\n", "line 2, column 'index'"),
    (f"index\tquestion\tanswer\tA\tB\tC\tD\timage\n1\tQ\tA\tx\ty\t\tz\t{encoded(1)}\n", "column 'D': the options"),
    (f"index\tquestion\tanswer\tA\tB\timage\n1\tQ\tA\tx\ty\t['{encoded(1)}\n", "list of pictures is damaged"),
]


@pytest.mark.parametrize(("text", "told"), WRONG, ids=[told for _, told in WRONG])
def test_what_is_wrong_is_told_by_line_and_column(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "VStarBench.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=told):
        open_benchmark("vstar", path, media=MediaStore())


def test_text_that_is_no_utf8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "VStarBench.tsv"
    path.write_bytes(b"index\tquestion\n1\t\xff\xfe\n")
    with pytest.raises(UserError, match="line 2, column 'question': is no UTF-8"):
        list(TsvFile(path).rows())


def test_a_changed_file_is_told_by_its_hash(tmp_path: Path) -> None:
    path = written(tmp_path, [asked(0, encoded(1))])
    opened = open_benchmark("vstar", tmp_path, media=MediaStore())
    assert opened.release is None
    assert "NOT a published file (b18854d7075574be06b631cd5f7d2d6a)" in opened.describe()
    with pytest.raises(UserError, match="NOT a published file"):
        open_benchmark("vstar", path, media=MediaStore(), known_files_only=True)


def test_a_missing_file_is_told_with_the_place_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"V\* Bench is not there; put .*VStarBench.tsv or the parquet files of"):
        open_benchmark("vstar", tmp_path, media=MediaStore())


def test_a_row_that_is_too_large_is_refused_before_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "Large.tsv"
    for cell in ("x" * 5000, '"' + "\n" * 5000, '"' + "x" * 5000):
        path.write_text(f"index\timage\n0\t{encoded(1)}\n1\t{cell}")
        with pytest.raises(UserError, match=r"line 3: the row has more than 4,000 bytes"):
            list(TsvFile(path, max_record_bytes=4000).rows())


def test_a_quoted_field_of_very_many_lines_comes_back_whole(tmp_path: Path) -> None:
    lines = '""\n' * 50_000
    path = tmp_path / "Lines.tsv"
    path.write_text(f'index\tquestion\timage\n0\t"{lines}"\t1\n1\tlast\t1\n')
    first, last = TsvFile(path).rows()
    assert first.fields["question"] == '"\n' * 50_000
    assert (last.line, last.fields["question"]) == (50_003, "last")


def test_truncated_base64_is_told_and_never_shown(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((64, 64), 80).convert("RGB").save(buffer, "PNG")
    noise = base64.b64encode(buffer.getvalue()).decode()
    for broken in (noise[: len(noise) // 2], noise[:200] + "!" * 80, "QUJD" * 40):
        path = written(tmp_path, [asked(0, encoded(1)), asked(1, broken)])
        with pytest.raises(UserError, match=r"line 3, column 'image'"):
            open_benchmark("vstar", path, media=MediaStore())
