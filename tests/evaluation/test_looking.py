"""Crops held against targets, by hand."""

import pytest

from saccade.evaluation.looking import Look, look_of
from saccade.geometry import Box
from saccade.types import Answer, ImageRef, Json, Target, Task, ToolCall, ToolResult, Trajectory, Turn

IMAGE = ImageRef(hash="0" * 64, width=100, height=100)
TARGET = Target(label="plate", box=Box(10, 10, 30, 30), point=Box(10, 10, 30, 30).center)


def task(*targets: Target) -> Task:
    return Task(
        id="t", family="f", question="?", answer="a", answer_kind="exact", images=(IMAGE, IMAGE), targets=targets
    )


def crop(bbox: Json, *, name: str = "crop", is_ok: bool = True, image: int = 1) -> Turn:
    call = ToolCall(name=name, arguments={"bbox_2d": bbox, "image": image})
    return Turn(index=0, text="", thought="", action=call, is_well_formed=True, result=ToolResult(text="", is_ok=is_ok))


def trajectory(*turns: Turn) -> Trajectory:
    answer = Turn(index=len(turns), text="", thought="", action=Answer(text="a"), is_well_formed=True)
    return Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*turns, answer),
        status="answered",
    )


def test_half_of_the_target_in_a_crop_of_its_size() -> None:
    look = look_of(task(TARGET), trajectory(crop([20, 10, 40, 30])))
    assert look == Look(iou=pytest.approx(200 / 600), coverage=0.5)


def test_the_best_crop_counts() -> None:
    look = look_of(task(TARGET), trajectory(crop([60, 60, 90, 90]), crop([10, 10, 30, 30], name="zoom")))
    assert look == Look(iou=1.0, coverage=1.0)


def test_a_crop_elsewhere_is_a_miss_not_nothing() -> None:
    assert look_of(task(TARGET), trajectory(crop([60, 60, 90, 90]))) == Look(iou=0.0, coverage=0.0)


@pytest.mark.parametrize(
    "turn",
    [
        crop([10, 10, 30, 30], is_ok=False),
        crop([10, 10, 30, 30], image=2),
        crop([10, 10, 30, 30], name="rotate"),
        crop("10"),
        crop([10, "x", 30, 30]),
    ],
)
def test_failed_foreign_and_broken_crops_do_not_count(turn: Turn) -> None:
    assert look_of(task(TARGET), trajectory(turn)) is None


def test_without_targets_there_is_nothing_to_hold_a_crop_against() -> None:
    assert look_of(task(), trajectory(crop([10, 10, 30, 30]))) is None
