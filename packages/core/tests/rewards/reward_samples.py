"""Trajectories with calls, made by hand for the tests of rewards."""

from dataclasses import replace
from typing import Literal

from saccade.types import (
    Answer,
    Group,
    ImageRef,
    Malformed,
    Observation,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

TASK = Task(id="t", family="f", question="?", answer="red", answer_kind="exact", images=())
PICTURE = ImageRef(hash="0" * 64, width=8, height=8)

UNSEEN = Turn(
    index=0, text="", thought="", action=ToolCall(name="python", arguments={"code": "1"}), is_well_formed=True
)
"""A call in the last turn: nobody ran it and nothing is shown."""
REFUSED = replace(UNSEEN, observation=Observation(text="there is no such tool"))
RUNS = replace(UNSEEN, result=ToolResult(text="1"), observation=Observation(text="1"))
IDLE = replace(RUNS, result=ToolResult(text="", data={"work": "idle"}), observation=Observation(text=""))
"""A call that ran and, as the tool says, did no work."""
DRAWS = replace(UNSEEN, result=ToolResult(images=(PICTURE,)), observation=Observation(text="", images=(PICTURE,)))
FAILS = replace(UNSEEN, result=ToolResult(text="NameError", is_ok=False), observation=Observation(text="NameError"))
MALFORMED = replace(
    UNSEEN, action=Malformed(why="two blocks"), is_well_formed=False, observation=Observation(text="two blocks")
)


def played(
    *turns: Turn | Literal["malformed"],
    answer: str | None = None,
    status: TrajectoryStatus | None = None,
    stream: str = "main",
    sample: int = 0,
) -> Trajectory:
    """The turns in order, and an answer where one is given; without one it ran out of turns."""
    all_turns = [MALFORMED if isinstance(turn, str) else turn for turn in turns]
    if answer is not None:
        all_turns.append(replace(UNSEEN, action=Answer(text=answer)))
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream=stream,
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=tuple(replace(turn, index=index) for index, turn in enumerate(all_turns)),
        status=status or ("turn_limit" if answer is None else "answered"),
        failure="the sandbox is gone" if status == "failed" else "",
    )


def group(*trajectories: Trajectory, stream: str = "main") -> Group:
    return Group(task=TASK, stream=stream, trajectories=trajectories)
