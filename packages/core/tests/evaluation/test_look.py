"""The benchmark of looking: fixed questions, and figures of how they were looked at."""

import json
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.errors import UserError
from saccade.evaluation.exports.question_folder import write_question_folder
from saccade.evaluation.look import LOOK, digest_of, look_card, look_examples, look_figures
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.models.checkpoint import base_checkpoint
from saccade.tasks.files import read_tasks
from saccade.types import (
    Answer,
    Attempt,
    Example,
    Score,
    Segment,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

FIRST = "c8a3c4863e3f5e37"


def test_the_first_questions_are_those_of_version_1() -> None:
    """The whole is drawn and checked whenever it is asked for; this much is quick."""
    found = look_examples(MediaStore(), 64)
    assert [one.task.family for one in found[:16]] == list(LOOK.families)
    assert digest_of(found).startswith(FIRST)
    assert all(one.task.targets for one in found)
    assert [one.task for one in look_examples(MediaStore(), 16)] == [one.task for one in found[:16]]


def attempt(example: Example, *, right: bool, crop: Box | None, status: TrajectoryStatus = "answered") -> Attempt:
    actions: list[tuple[ToolCall | Answer, ToolResult | None]] = [(Answer(text="x"), None)]
    if crop is not None:
        call = ToolCall(name="crop", arguments={"bbox_2d": list(crop.as_tuple())})
        actions.insert(0, (call, ToolResult(images=example.task.images)))
    turns = tuple(
        Turn(index=index, text="", thought="", is_well_formed=True, action=action, result=result)
        for index, (action, result) in enumerate(actions)
    )
    score = Score(terms=(Term("accuracy", float(right)),), is_right=right)
    trajectory = Trajectory(
        task_id=example.task.id,
        family=example.task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(Segment(role="prompt", turn=0, ids=(1,)), Segment(role="action", turn=0, ids=(1, 2, 3))),
        turns=turns,
        status=status,
        score=None if status == "failed" else score,
    )
    return Attempt(task=example.task, trajectory=trajectory)


def test_figures_count_right_answers_looks_calls_and_tokens() -> None:
    first, second, third, fourth = look_examples(MediaStore(), 4)
    box = first.task.targets[0].box
    beside = Box(0, 0, 1, 1)
    figures = look_figures(
        [
            attempt(first, right=True, crop=box),
            attempt(second, right=False, crop=beside),
            attempt(third, right=True, crop=None),
            attempt(fourth, right=False, crop=None, status="failed"),
        ]
    )
    assert (figures.questions, figures.failed) == (3, 1)
    assert figures.accuracy == pytest.approx(2 / 3)
    assert figures.evidence_hit_rate == pytest.approx(1 / 3)
    assert (figures.calls, figures.action_tokens) == (pytest.approx(2 / 3), 3)
    assert figures.by_family == {"attributes": 0, "counting": 1, "visual_search": 1}
    with pytest.raises(UserError, match="all failed with machine errors"):
        look_figures([attempt(first, right=True, crop=None, status="failed")])


def test_the_folder_is_read_again_as_the_same_questions(tmp_path: Path) -> None:
    media = MediaStore()
    tasks = [one.task for one in look_examples(media, 16)]
    path = write_question_folder(tasks, tmp_path / "look", media, card=look_card())
    again = read_tasks(path, media=MediaStore()).tasks
    assert [(one.question, one.answer, one.images, one.choices) for one in again] == [
        (one.question, one.answer, one.images, one.choices) for one in tasks
    ]
    assert [[t.box for t in one.targets] for one in again] == [[t.box for t in one.targets] for one in tasks]
    assert LOOK.sha256 in (tmp_path / "look/README.md").read_text()
    with pytest.raises(UserError, match="not an empty folder"):
        write_question_folder(tasks, tmp_path / "look", media, card="")


def test_the_command_measures_with_and_without_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--model", str(base_checkpoint()), "--suite", "look", "-n", "3", "--quiet"]
    assert run_command([*command, "--out", str(tmp_path / "run"), "--threads", "1"]) == 0
    written = json.loads((tmp_path / "run/look.json").read_text())
    assert (written["version"], written["sha256"]) == (LOOK.version, LOOK.sha256)
    assert {name: way["questions"] for name, way in written["ways"].items()} == {"with_tools": 3, "without_tools": 3}
    assert f"look {LOOK.version}, with_tools: " in capsys.readouterr().out
