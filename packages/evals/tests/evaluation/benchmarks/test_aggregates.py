"""Aggregates: on numbers worked out by hand, and beside the harnesses' own functions on drawn scores."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from saccade.evaluation.benchmarks import BENCHMARKS, Extracted, ScoredRow
from saccade.evaluation.benchmarks.boxes import best_iou
from saccade.evaluation.benchmarks.rows import row_of

RECORDED = json.loads(Path(__file__).with_name("recorded_aggregates.json").read_text(encoding="utf-8"))


def scored(name: str, rows: Sequence[dict[str, str]], worth: Sequence[float], read: Sequence[str]) -> list[ScoredRow]:
    return [
        ScoredRow(row=row_of(BENCHMARKS[name], row, ()), extracted=Extracted(text, credit))
        for row, credit, text in zip(rows, worth, read, strict=True)
    ]


def figures(name: str, reading: str, rows: Sequence[ScoredRow]) -> dict[str, float]:
    return {one.name: one.value for one in BENCHMARKS[name].figures(reading, rows)}


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['benchmark']}-{one['reading']}")
def test_an_aggregate_is_the_harness_own(one: dict[str, object]) -> None:
    rows = scored(one["benchmark"], one["rows"], one["credits"], one["read"])
    ours = figures(one["benchmark"], one["reading"], rows)
    # We-Math's script rounds to hundredths of a percent.
    within = 6e-5 if one["benchmark"] == "wemath-testmini" else 1e-9
    assert {name: ours[name] for name in one["figures"]} == pytest.approx(one["figures"], abs=within)


def row(index: str, **columns: str) -> dict[str, str]:
    return {"index": index, "question": "Q", "answer": "A", "A": "red", "B": "blue", **columns}


def test_hrbench_is_the_mean_over_cycles_and_says_how_many_questions_are_right_in_all() -> None:
    rows = [row(str(place), question=f"Q{place // 2}", cycle_category=str(place % 2)) for place in range(4)]
    found = figures("hrbench-4k", "vlmevalkit", scored("hrbench-4k", rows, [1, 1, 0, 1], [""] * 4))
    assert found == {"mean over cycles": 0.75, "right in every cycle": 0.5}


def test_pope_is_f1_of_yes() -> None:
    rows = [{**row(str(place)), "answer": gold} for place, gold in enumerate(("Yes", "Yes", "No", "No"))]
    for one in rows:
        del one["A"], one["B"]
    found = figures("pope", "vlmevalkit", scored("pope", rows, [1, 0, 0, 1], ["Yes", "No", "Yes", "No"]))
    assert found == {"F1": 0.5, "accuracy": 0.5, "precision": 0.5, "recall": 0.5, "said yes": 0.5}


def test_a_figure_of_hallusionbench_counts_only_whole() -> None:
    rows = [
        {"index": f"VD_chart_0_0_{figure}_{question}", "question": "Q", "answer": "Yes", "l2-category": "chart"}
        for figure in range(2)
        for question in range(2)
    ]
    found = figures("hallusionbench", "vlmevalkit", scored("hallusionbench", rows, [1, 1, 1, 0], [""] * 4))
    assert found == {"aAcc": 0.75, "fAcc": 0.5, "qAcc": 0.5}


def test_we_math_tells_rote_memory_from_mastery() -> None:
    keys = ("2steps_1", "2steps_2", "2steps_multi")
    rows = [row(f"{problem}-{key}", ID=str(problem), key=key) for problem in range(4) for key in keys]
    # Mastered; by rote; the steps known but not together; nothing known.
    worth = [1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    found = figures("wemath-testmini", "vlmevalkit", scored("wemath-testmini", rows, worth, [""] * 12))
    assert found["score (strict)"] == pytest.approx((525 - 0.5 - 1 - 1) / 525)
    assert found["RM (strict)"] == found["RM (loose)"] == 0.5
    assert found["CM (loose)"] == pytest.approx(1 / 525)


def test_box_recall_is_the_mean_of_each_targets_best_iou() -> None:
    reply = "<think><box>[0,0,10,10]</box> <box>[0,0,10,5]</box></think><answer>A</answer>"
    assert best_iou(reply, "[[0, 0, 10, 10], [50, 50, 60, 60]]") == 0.5
    assert best_iou("<box>[0, 0, 10, 10]</box>", "[[0, 0, 10, 10]]") == 0.0


def test_an_aggregate_of_nothing_is_nothing() -> None:
    assert [one.name for one in BENCHMARKS.values() if one.figures(one.headline, [])] == []


def test_a_row_without_verdict_is_in_no_aggregate() -> None:
    one = ScoredRow(row=row_of(BENCHMARKS["vstar"], row("1"), ()), extracted=Extracted("", None))
    with pytest.raises(ValueError, match="no verdict"):
        BENCHMARKS["vstar"].figures("vlmevalkit", [one])


def test_blindtests_figure_is_the_mean_over_eight_tasks() -> None:
    tasks = {"Counting Grid - Word Grids": 1.0, "Counting Grid - Blank Grids": 0.0, "Nested Squares": 1.0}
    rows = [
        ScoredRow(
            row=row_of(
                BENCHMARKS["vlmsareblind"],
                BENCHMARKS["vlmsareblind"].layout.prepare(
                    {"index": task, "question": "Q", "answers": "1", "task": task}
                ),
                (),
            ),
            extracted=Extracted("", credit),
        )
        for task, credit in tasks.items()
    ]
    first, *groups = BENCHMARKS["vlmsareblind"].figures("vlmevalkit", rows)
    assert (first.value, first.n) == (0.75, 3)
    assert {one.name: one.value for one in groups}["l2-category: Counting Grid"] == 0.5
