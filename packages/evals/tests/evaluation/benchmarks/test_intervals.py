"""Intervals of a benchmark's figure over clusters."""

from collections.abc import Sequence

from saccade.evaluation.benchmarks import BENCHMARKS, Extracted, ScoredRow
from saccade.evaluation.benchmarks.reading import figure_interval
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.statistics import clustered_mean
from saccade.types import ImageRef


def scored(name: str, hits: Sequence[float], rows_of_a_picture: int, **columns: str) -> list[ScoredRow]:
    """Rows that share a picture so many at a time."""
    benchmark = BENCHMARKS[name]
    found = []
    for place, hit in enumerate(hits):
        image = ImageRef(hash=f"{place // rows_of_a_picture:016d}".ljust(64, "0"), width=1, height=1)
        fields = {"index": str(place), "question": "Q", "answer": "Yes", **columns}
        text = "Yes" if hit else "No"
        found.append(ScoredRow(row=row_of(benchmark, fields, (image,)), extracted=Extracted(text, hit)))
    return found


def test_rows_of_one_picture_count_as_one() -> None:
    hits = [1.0, 1.0, 0.0, 0.0] * 25
    alone, shared = (scored("chartqa-test", hits, size) for size in (1, 2))
    narrow, wide = (figure_interval(BENCHMARKS["chartqa-test"], "strict", rows) for rows in (alone, shared))
    assert narrow is not None
    assert wide is not None
    assert wide[1] - wide[0] > 1.2 * (narrow[1] - narrow[0])
    clusters = [BENCHMARKS["chartqa-test"].cluster(one.row) for one in alone]
    assert narrow == clustered_mean(hits, clusters).ci95


def test_a_figure_that_is_no_mean_is_worked_out_for_each_draw() -> None:
    rows = scored("pope", [1.0, 0.0, 1.0] * 20, 3, category="random")
    low, high = figure_interval(BENCHMARKS["pope"], "vlmevalkit", rows) or (0.0, 0.0)
    assert (low, high) == (0.8, 0.8)
    mixed = scored("pope", [1.0, 0.0, 1.0, 1.0] * 20, 1, category="random")
    interval = figure_interval(BENCHMARKS["pope"], "vlmevalkit", mixed)
    assert interval == figure_interval(BENCHMARKS["pope"], "vlmevalkit", mixed)
    assert interval is not None
    assert interval[0] < BENCHMARKS["pope"].figures("vlmevalkit", mixed)[0].value < interval[1]


def test_all_right_is_not_certain_and_one_cluster_says_nothing() -> None:
    rows = scored("pope", [1.0] * 10, 1, category="random")
    low, high = figure_interval(BENCHMARKS["pope"], "vlmevalkit", rows) or (1.0, 1.0)
    assert (low < 0.8, high) == (True, 1.0)
    assert figure_interval(BENCHMARKS["pope"], "vlmevalkit", rows[:1]) is None
