"""Which trajectories of a run are curated, and which of their words."""

from pathlib import Path

import pytest
from run_samples import attempt, played, run_with, task

from saccade.codec.codecs import plain_json
from saccade.codec.wrong import BrokenRecordError
from saccade.curation.linguistic_tools import (
    ReasonedTrajectory,
    recorded_attempts,
    right_trajectories,
    trajectory_from_json,
)
from saccade.curation.linguistic_tools.trajectories import MAX_REASONING_CHARS, reasoning_of
from saccade.errors import UserError
from saccade.types import Answer, Attempt, Score, Term, ToolCall, Turn


def test_right_trajectories_with_words_are_taken_the_newest_of_each_question() -> None:
    attempts = [
        attempt(1, "old"),
        attempt(2, "wrong", answer="8"),
        attempt(3, thought=""),
        attempt(4, thought="I see 7."),
        Attempt(task=task(5), trajectory=played(5)),
        attempt(1, "new", sample=1),
        attempt(1, "newest but wrong", answer="9", sample=2),
    ]
    found = right_trajectories(attempts)
    assert [(one.id, one.question, one.reasoning, one.answer) for one in found] == [
        ("q4", "Question 4?", "I see 7.", "7"),
        ("q1", "Question 1?", "new", "7"),
    ]
    assert [one.id for one in right_trajectories(attempts, count=1)] == ["q1"]


def test_the_reward_says_what_is_right() -> None:
    from dataclasses import replace

    judged = attempt(1, "by a judge", answer="seven")
    score = Score(terms=(Term("answer", 1.0),), is_right=True)
    assert right_trajectories([judged]) == []
    right = replace(judged, trajectory=replace(judged.trajectory, score=score))
    assert [one.reasoning for one in right_trajectories([right])] == ["by a judge"]
    failed = replace(right, trajectory=replace(right.trajectory, status="failed", failure="the machine"))
    assert right_trajectories([failed]) == []


def test_turns_with_tools_are_told_in_words() -> None:
    look = Turn(index=0, text="", thought="Too small.", action=ToolCall(name="crop", arguments={}), is_well_formed=True)
    end = Turn(index=1, text="", thought="It says 7.", action=Answer(text="7"), is_well_formed=True)
    assert reasoning_of(played(1, look, end)) == "Too small.\n(calls the tool crop)\nIt says 7."
    assert len(reasoning_of(attempt(1, "x" * 10_000).trajectory)) == MAX_REASONING_CHARS


def test_a_run_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    run = run_with(
        tmp_path / "run",
        {("warm", 2): [attempt(2)], ("warm", 10): [attempt(3)], ("action", 1): [attempt(1)]},
        {"held_out": [attempt(9)]},
    )
    assert [one.task.id for one in recorded_attempts(run)] == ["q2", "q3", "q1"]
    assert [one.task.id for one in recorded_attempts(run, "warm")] == ["q2", "q3"]
    assert [one.task.id for one in recorded_attempts(run, "held_out")] == ["q9"]
    with pytest.raises(UserError, match="no trajectories of 'later' from training; it has warm, action, held_out"):
        recorded_attempts(run, "later")


def test_a_folder_without_a_run_and_a_run_without_training_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        recorded_attempts(tmp_path)
    run = run_with(tmp_path / "run", {}, {"held_out": [attempt(1)]})
    with pytest.raises(UserError, match="it has held_out; name a stage or an evaluation with --stage"):
        recorded_attempts(run)


def test_a_trajectory_comes_back_from_json() -> None:
    one = ReasonedTrajectory(id="a", question="b", reasoning="c", answer="d")
    assert trajectory_from_json(plain_json(one)) == one
    with pytest.raises(BrokenRecordError, match="'answer' is missing in the trajectory"):
        trajectory_from_json({"id": "a", "question": "b", "reasoning": "c"})
