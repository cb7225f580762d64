"""Golds tried before training: what is said of a file, and what is refused."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from saccade.cli.check_data import check_data
from saccade.config.context import RecipeContext, read_own_tasks
from saccade.config.gold_check import describe_kinds, weak_golds
from saccade.errors import UserError
from saccade.tasks.rows.golds import infer_kind
from saccade.types import Task


def task(gold: str, question: str = "What is it?") -> Task:
    kind = infer_kind(gold, (), question)
    return Task(id=gold, family="f", question=question, answer=gold, answer_kind=kind, images=(), source="mine")


GOOD = [
    task(gold)
    for gold in (
        "7",
        "0.5",
        "red",
        "The man is on the left side of the car.",
        r"2 \sqrt { 221 }",
        "Room 12B",
        "no",
        "No, there is no dog.",
    )
]


def test_usual_golds_are_met_by_themselves_and_by_no_near_miss() -> None:
    assert weak_golds([*GOOD, task("A", "What? A. cat B. dog C. cow")]) == []


def test_a_gold_that_no_reply_can_meet_is_named() -> None:
    [weak] = weak_golds([*GOOD, task("<answer>")])
    assert (weak.task.answer, weak.is_met) == ("<answer>", False)


def test_a_gold_that_a_near_miss_meets_is_named() -> None:
    loose = replace(task("10"), answer_kind="number", tolerance=1.5)
    [weak] = weak_golds([loose])
    assert (weak.reply, weak.is_met) == ("21", True)


def test_kinds_are_counted() -> None:
    said = describe_kinds([*GOOD[:2], task("A", "What? A. cat B. dog"), replace(GOOD[0], metric="chartqa")])
    assert said == "4 rows: 1 integer, 1 number, 1 choice A to B, 1 by the metric of chartqa"


def test_what_was_understood_is_said_before_work_starts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"question": "q1", "answer": r"\boxed{3}"}, {"question": "q2", "answer": "<bbox>"}]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with caplog.at_level(logging.INFO):
        read_own_tasks(tmp_path / "mine.jsonl", RecipeContext())
    assert "2 rows: 1 integer, 1 exact" in caplog.text


def test_a_metric_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(json.dumps({"question": "q", "answer": "3", "metric": "chartqa2"}))
    with pytest.raises(UserError, match="metric 'chartqa2' is none of"):
        read_own_tasks(tmp_path / "mine.jsonl", RecipeContext())


def test_a_file_of_which_no_gold_can_be_met_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(json.dumps({"question": "q", "answer": "</answer>"}))
    with pytest.raises(UserError, match="no answer can be right"):
        read_own_tasks(tmp_path / "mine.jsonl", RecipeContext())


def test_the_command_prints_rows_as_they_are_asked_and_fails_for_weak_golds(tmp_path: Path) -> None:
    rows = [
        {"question": "Which?", "answer": "B", "options": ["A. red", "B. blue"]},
        {"question": "How many?", "answer": "10", "answer_kind": "number", "tolerance": 1.0},
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = CliRunner().invoke(check_data, [str(tmp_path / "mine.jsonl")])
    assert "A. red" in said.output
    assert "-> B  [choice]" in said.output
    assert "2 rows: 1 choice A to B, 1 number within 100%" in said.output
    assert said.exit_code == 0
