"""Heads of records read in one go say what reading field by field says, and nothing where a field is wrong."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from saccade.geometry import Box, Point
from saccade.runs.record_lines import trajectory_head
from saccade.runs.trajectory_json import trajectory_from_json, trajectory_to_json
from saccade.types import (
    Answer,
    BoxMention,
    ImageRef,
    Malformed,
    Observation,
    PointMention,
    Score,
    Segment,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

IMAGE = ImageRef(hash="a" * 64, width=20, height=10)
CALL = Turn(
    index=0,
    text="<tool>",
    thought="there [1, 2, 3, 4]",
    action=ToolCall(name="crop", arguments={"bbox_2d": [1, 2.5, 3, 4], "deep": {"of": [None, True]}}),
    is_well_formed=True,
    result=ToolResult(text="seen", images=(IMAGE,), data={"latency_s": 0.5}, is_ok=False),
    observation=Observation(text="Image 2", images=(IMAGE,)),
    boxes=(BoxMention(text="[1, 2, 3, 4]", box=Box(1, 2, 3, 4)), BoxMention(text="[x]", box=None)),
    points=(PointMention(text="(1, 2)", label="a", point=Point(1, 2), frame=2, time_s=0.5, image_index=1),),
)
ENDED = Turn(index=1, text="é", thought="", action=Malformed(why="no tag"), is_well_formed=False)
SCORED = Score(
    terms=(Term("accuracy", 1.0, 0.5, filled_from="a sibling"), Term("kl", -0.25, 2.0, added_by="the algorithm")),
    is_right=True,
    notes={"reference": 1.0},
    evidence={"points": [[1, 2]]},
)
WHOLE = Trajectory(
    task_id="counting/1",
    family="counting",
    stream="grounded",
    sample=3,
    seed=2**63 - 1,
    policy_version=4,
    segments=(Segment(role="action", turn=0, ids=(1, 2), logprobs=(-0.5, -1.0)),),
    turns=(CALL, ENDED),
    status="turn_limit",
    score=SCORED,
)
ANSWERED = replace(WHOLE, turns=(replace(ENDED, action=Answer(text="7")),), status="answered", score=None)
FAILED = replace(WHOLE, turns=(), status="failed", failure="its sandbox went away", score=None)


def line_of(values: object) -> bytes:
    assert isinstance(values, dict)
    return json.dumps({"kind": "trajectory", **values}).encode() + b"\n"


@pytest.mark.parametrize("trajectory", [WHOLE, ANSWERED, FAILED], ids=["whole", "answered", "failed"])
def test_a_head_is_the_trajectory_without_its_tokens(trajectory: Trajectory) -> None:
    values = trajectory_to_json(trajectory)
    line = line_of(values)
    read = trajectory_head(line)
    assert read is not None
    assert read == (line.index(b', "segments": '), replace(trajectory_from_json(values), segments=()))


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "a field is missing": lambda values: values.pop("seed"),
    "a number is a text": lambda values: values.update(sample="3"),
    "true is no number": lambda values: values.update(sample=True),
    "there is no such status": lambda values: values.update(status="asleep"),
    "there is no such action": lambda values: values["turns"][0]["action"].update(type="sing"),
    "a box has three sides": lambda values: values["turns"][0]["boxes"][0].update(box=[1, 2, 3]),
    "a term has no number": lambda values: values["score"]["terms"][0].update(value=float("nan")),
    "two terms have one name": lambda values: values["score"]["terms"][1].update(name="accuracy"),
    "a text is half a character": lambda values: values["turns"][1].update(text="\ud800"),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_is_wrong_is_left_to_the_reader_that_says_so(why: str) -> None:
    values: Any = json.loads(json.dumps(trajectory_to_json(WHOLE)))
    WRONG[why](values)
    assert trajectory_head(line_of(values)) is None


def test_lines_of_another_kind_are_left_to_others() -> None:
    assert trajectory_head(b'{"kind": "task", "id": "a", "segments": []}\n') is None
    assert trajectory_head(b'{"kind": "trajectory", "task_id": "a"}\n') is None
