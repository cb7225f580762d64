"""MMSearch from its own files: a question of each step, and what a reply to it is worth."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_releases import HUB_ROWS, write_parquet

from saccade.errors import UserError
from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkRow, find_benchmark, open_benchmark, read_replies
from saccade.media.store import MediaStore

STEPS = ("mmsearch", "mmsearch-requery", "mmsearch-rerank", "mmsearch-summarization")


def opened(name: str, root: Path, **columns: object) -> BenchmarkRow:
    folder = root / "MMSearch"
    folder.mkdir(exist_ok=True)
    split = BENCHMARKS[name].layout.split
    pq.write_table(pa.Table.from_pylist([{**HUB_ROWS[name], **columns}]), folder / f"{split}.parquet")
    [row] = open_benchmark(name, root, media=MediaStore()).rows
    return row


def worth(row: BenchmarkRow, *replies: str) -> list[float | None]:
    """By the release's rule."""
    benchmark = BENCHMARKS[row.task.family]
    assert len(read_replies(benchmark, "strict", [row] * len(replies), replies).extracted) == len(replies)
    return [benchmark.reading("official").read(row, reply).credit for reply in replies]


def test_each_step_is_ready_with_its_own_file_alone(tmp_path: Path) -> None:
    write_parquet("mmsearch", tmp_path)
    ready = [name for name in STEPS if find_benchmark(BENCHMARKS[name], tmp_path).is_ready]
    assert ready == ["mmsearch", "mmsearch-requery"]
    with pytest.raises(UserError, match="MMSearch rerank is not there; put the parquet files of CaraJ/MMSearch"):
        open_benchmark("mmsearch-rerank", tmp_path, media=MediaStore())


def test_a_question_of_words_alone_shows_no_picture(tmp_path: Path) -> None:
    row = opened("mmsearch", tmp_path, query_image=None, image_search_result=None)
    assert (row.task.images, row.task.question.split("\n")[0]) == ((), "Question: When is it?")
    assert (row.task.document, row.task.accepted) == ("mmsearch/s_1", ("2024-08-11", "August 11"))
    assert worth(row, "august 11", "on August 11", "2024", "") == [1.0, 0.8, 0.0, 0.0]


def test_websites_are_shown_with_their_screenshots_in_place_and_one_may_be_named(tmp_path: Path) -> None:
    row = opened("mmsearch-rerank", tmp_path, website4_info=None)
    shown = row.task.question
    assert len(row.task.images) == 9
    assert shown.startswith(
        "A search engine found these websites.\n\nWebsite 1: T0\nS0\nIts top: <image 1>\n\nWebsite 2"
    )
    assert "Website 5:" not in shown
    assert "Website 8: T7\nS7\nIts top: <image 7>\n\nQuestion: <image 8>When is it?" in shown
    assert worth(row, "<Website 3>", "<Website 1>", "<Website 2>", "<Website 3> or <Website 1>") == [1.0, 0.5, 0.0, 0.0]
    every = "".join(f"<Website {place}>" for place in range(1, 9))
    assert worth(row, every, "3", "") == [0.0, 0.0, 0.0]


def test_the_picture_of_a_page_is_cut_into_pieces(tmp_path: Path) -> None:
    row = opened("mmsearch-summarization", tmp_path)
    assert [one.height for one in row.task.images] == [512, 512, 76, 12, 12]
    assert (
        "It is on August 11.\nWhat it looks like: <image 1><image 2><image 3>\n\nQuestion: <image 4>"
        in row.task.question
    )
    with pytest.raises(UserError, match="column 'website_fullpage_screenshot': holds no picture"):
        opened("mmsearch-summarization", tmp_path, website_fullpage_screenshot=None)


def test_copying_the_question_or_listing_words_is_no_good_query(tmp_path: Path) -> None:
    row = opened(
        "mmsearch-requery", tmp_path, query="When did she win the final in Paris?", gt_requery="her final Paris"
    )
    copied, listed, good = worth(row, row.fields["question"], "final " * 50, "her final Paris")
    assert (good, copied is not None and copied < 0.2, listed is not None and listed < 0.3) == (
        pytest.approx(1.0),
        True,
        True,
    )
