"""Why answers are wrong, one reason each, as far as the record proves it."""

from dataclasses import replace

import pytest
from PIL import Image

from saccade.evaluation.reasons import wrong_reason
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.runs.segments import REASONS
from saccade.types import (
    Answer,
    Attempt,
    ImageRef,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

CROP = (20.0, 20.0, 40.0, 40.0)


def picture() -> ImageRef:
    return MediaStore().add(Image.new("RGB", (100, 100)))


def crop(box: tuple[float, ...] = CROP, *, ran: bool = True) -> Turn:
    call = ToolCall(name="crop", arguments={"bbox_2d": list(box)})
    result = ToolResult(text="cropped", images=(picture(),)) if ran else None
    return Turn(index=0, text="", thought="", action=call, is_well_formed=True, result=result)


def attempt(*turns: Turn, answer: str | None = "red", status: TrajectoryStatus = "answered") -> Attempt:
    """Of a question with choices and a target, answered wrongly."""
    last = (
        ()
        if answer is None
        else (Turn(index=len(turns), text=answer, thought="", action=Answer(text=answer), is_well_formed=True),)
    )
    target = Target(label="plate", box=Box(*CROP), point=Box(*CROP).center)
    task = Task(
        id="t/1",
        family="t",
        question="Which colour?",
        answer="blue",
        answer_kind="choice",
        images=(picture(),),
        choices=("red", "blue"),
        targets=(target,),
    )
    played = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*turns, *last),
        status=status,
    )
    return Attempt(task=task, trajectory=played)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (attempt(answer=None, status="turn_limit"), "out_of_turns"),
        (attempt(answer=None, status="token_limit"), "out_of_tokens"),
        (attempt(answer="purple"), "no_choice"),
        (attempt(), "no_call"),
        (attempt(crop(ran=False)), "calls_failed"),
        (attempt(crop((60, 60, 90, 90))), "looked_elsewhere"),
        (attempt(crop((30, 20, 60, 40))), "saw_part"),
        (attempt(crop((60, 60, 90, 90)), replace(crop((10, 10, 50, 50)), index=1)), "saw_target"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_wrong_answer_has_the_first_reason_that_holds(wrong: Attempt, reason: str) -> None:
    assert wrong_reason(wrong) == reason
    assert reason in REASONS


def test_without_a_target_nothing_is_said_of_where_it_looked() -> None:
    one = attempt(crop())
    assert wrong_reason(replace(one, task=replace(one.task, targets=()))) == "after_calls"
