"""Video-MME-v2 from its own files: frames as its script takes them, subtitles, and the score of whole groups."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_releases import VIDEO_OPTIONS, write_video_mme

from saccade.errors import UserError
from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkReading, find_benchmark, open_benchmark, read_replies
from saccade.evaluation.benchmarks import with_options as in_orders
from saccade.evaluation.benchmarks.video_groups import group_score
from saccade.media.store import MediaStore


def test_the_frames_of_a_question_are_those_of_the_releases_script_with_their_times(tmp_path: Path) -> None:
    assert not find_benchmark(BENCHMARKS["video-mme-v2"], tmp_path).is_ready
    write_video_mme(tmp_path)
    media = MediaStore()
    opened = open_benchmark("video-mme-v2", tmp_path, media=media, frames=4)
    assert len(opened.rows) == 8
    row = opened.rows[5]
    # int(i * 40 / 5) for i from 1 to 4, ten frames a second.
    assert row.task.frame_times_s == (0.8, 1.6, 2.4, 3.2)
    assert [media.get(one).getpixel((8, 8))[0] // 10 for one in row.task.images] == [5, 10, 15, 20]
    assert (row.answer, row.options["H"], row.task.images) == ("B", "none of them.", opened.rows[4].task.images)
    assert BENCHMARKS["video-mme-v2"].prompt(row) == (
        f"These are the frames of a video.\nQuestion: What is it?\n{VIDEO_OPTIONS}\nSelect the best answer to the "
        "following multiple-choice question based on the video. Respond with only the letter (A, B, C, D, E, F, G, or "
        "H) of the correct option."
    )
    # 64 of 40 frames are all of them but the first and those between which none is left out.
    whole = open_benchmark("video-mme-v2", tmp_path, media=media, take=1).rows[0]
    assert len(whole.task.images) == 40


def test_subtitles_are_asked_with_where_the_benchmark_has_them(tmp_path: Path) -> None:
    write_video_mme(tmp_path)
    row = open_benchmark("video-mme-v2-subtitles", tmp_path, media=MediaStore(), take=1, frames=2).rows[0]
    assert row.task.question == "Subtitles: Hello world\n\nWhat is it?"
    told = BENCHMARKS["video-mme-v2-subtitles"].prompt(row)
    assert told.startswith("These are the frames of a video. This video's subtitles are listed below:\nHello world\n\n")
    (tmp_path / "Video-MME-v2/subtitle/001.jsonl").write_text('{"word": "Hello"}')
    with pytest.raises(UserError, match=r"001\.jsonl: every line must be an object with the key text"):
        open_benchmark("video-mme-v2-subtitles", tmp_path, media=MediaStore(), take=1)
    (tmp_path / "Video-MME-v2/subtitle/001.jsonl").unlink()
    with pytest.raises(UserError, match=r"column 'video_id': 001\.jsonl is nowhere in .*unpack the release's archives"):
        open_benchmark("video-mme-v2-subtitles", tmp_path, media=MediaStore(), take=1)


@pytest.mark.parametrize("wrong", [{"group_type": "other"}, {"group_type": "logic", "group_structure": "[4, 3, 2, 1]"}])
def test_a_group_that_the_score_does_not_know_is_refused_before_anything_is_asked(
    wrong: dict[str, str], tmp_path: Path
) -> None:
    write_video_mme(tmp_path)
    file = tmp_path / "Video-MME-v2/test.parquet"
    rows = [{**row, **wrong} for row in pq.read_table(file).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), file)
    with pytest.raises(UserError, match=r"row 1, column 'group_type': .* is no group"):
        open_benchmark("video-mme-v2", tmp_path, media=MediaStore())


@pytest.mark.parametrize(
    ("kind", "structure", "worth", "score"),
    [
        ("relevance", "", (1, 0, 1, 1), 9 / 16),
        ("logic", "[1, 2, 3, 4]", (1, 0, 1, 1), 1 / 16),
        ("logic", "[1, 2, 3, 4]", (0, 1, 1, 1), 0.0),
        ("logic", "[1, [2, 3], 4]", (1, 0, 1, 0), 4 / 12),
        ("logic", "[[1, 2], 3, 4]", (0, 1, 0, 0), 1 / 10),
        ("logic", "[[1, 2], 3, 4]", (1, 1, 1, 1), 1.0),
    ],
)
def test_groups_worked_out_by_hand(kind: str, structure: str, worth: tuple[float, ...], score: float) -> None:
    assert group_score(kind, structure, worth) == pytest.approx(score)


def read(reading: str, tmp_path: Path, replies: list[str | None]) -> BenchmarkReading:
    opened = open_benchmark("video-mme-v2", tmp_path, media=MediaStore(), frames=2)
    return read_replies(opened.benchmark, reading, opened.rows, replies)


def test_whole_groups_alone_are_in_the_score(tmp_path: Path) -> None:
    write_video_mme(tmp_path)
    found = read("vlmevalkit", tmp_path, ["A", "B", "C", "A", "A", "A", "C", "D"])
    told = {one.name: (round(one.value, 4), one.n) for one in found.figures}
    assert told["non-linear score"] == (round((9 / 16 + 4 / 12) / 2, 4), 2)
    assert told["accuracy"] == (0.75, 8)
    assert told["group_type: logic"] == (round(4 / 12, 4), 1)
    assert found.ci95 is not None
    cut = read("vlmevalkit", tmp_path, ["A", "B", "C", "A", "A", "B", "C", None])
    assert {one.name: one.n for one in cut.figures}["non-linear score"] == 1
    assert cut.ci95 == (9 / 16, 9 / 16)
    none = read("vlmevalkit", tmp_path, ["A", "B", "C", None, "A", "B", "C", None])
    assert (none.figures, none.ci95) == ((), None)


def test_saying_nothing_pays_by_the_releases_script_alone(tmp_path: Path) -> None:
    """A chain of -1 is a chain of right answers there; the harnesses' score, which comes first, is 0."""
    write_video_mme(tmp_path)
    worth = {name: read(name, tmp_path, [""] * 8).figures[0].value for name in ("official", "vlmevalkit", "lmms-eval")}
    assert worth == {"official": 0.5, "vlmevalkit": 0.0, "lmms-eval": 0.0}
    assert BENCHMARKS["video-mme-v2"].headline == "vlmevalkit"


def test_each_order_of_the_options_is_a_group_of_its_own(tmp_path: Path) -> None:
    write_video_mme(tmp_path)
    opened = open_benchmark("video-mme-v2", tmp_path, media=MediaStore(), frames=2)
    rows = list(in_orders(opened.rows, "cycles"))
    found = read_replies(opened.benchmark, "vlmevalkit", rows, [row.answer if row.cycle else "" for row in rows])
    assert found.figures[0].value == pytest.approx(7 / 8)
