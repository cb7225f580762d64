"""Measures of tool use by hand."""

from dataclasses import replace

from saccade.evaluation.tool_use import DifficultyBand, ToolUse, failure_kind, tool_use
from saccade.types import (
    Answer,
    Attempt,
    Json,
    Observation,
    Score,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

RUNS = Turn(
    index=0,
    text="",
    thought="",
    action=ToolCall(name="python", arguments={"code": "1"}),
    is_well_formed=True,
    result=ToolResult(text="1"),
    observation=Observation(text="1"),
)
REFUSED = replace(RUNS, result=None)
UNSEEN = replace(REFUSED, observation=None)


def failing(data: dict[str, Json]) -> Turn:
    return replace(RUNS, result=ToolResult(text="Error", data=data, is_ok=False))


TIMEOUT = replace(failing({"error_kind": "timeout"}), action=ToolCall(name="crop", arguments={}))


def attempt(*turns: Turn, question: int = 0, is_right: bool = True, answers: bool = True) -> Attempt:
    task = Task(id=f"t/{question}", family="t", question="?", answer="yes", answer_kind="exact", images=())
    last = replace(RUNS, action=Answer(text="yes" if is_right else "no"), result=None, observation=None)
    trajectory = Trajectory(
        task_id=task.id,
        family="t",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*turns, last) if answers else turns,
        status="answered" if answers else "turn_limit",
    )
    return Attempt(task=task, trajectory=trajectory)


def test_calls_of_a_batch_by_hand() -> None:
    # Question 0 is right in one of two, question 1 in none of two: 2 + 0 and 3 + 0 calls.
    batch = [
        attempt(RUNS, TIMEOUT),
        attempt(is_right=False),
        attempt(RUNS, REFUSED, TIMEOUT, UNSEEN, question=1, answers=False),
        attempt(UNSEEN, question=1, answers=False),
    ]
    assert tool_use(batch) == ToolUse(
        calls_mean=1.25,
        success_rate=0.4,
        answered_without_call=0.25,
        failures={"refused": 1, "timeout": 2},
        by_tool={"crop": 2, "python": 2},
        bands=(DifficultyBand(low=0.0, calls_mean=1.5, groups=1), DifficultyBand(low=0.5, calls_mean=1.0, groups=1)),
    )


def test_without_a_call_nothing_succeeded_or_failed() -> None:
    assert tool_use([attempt()]) == ToolUse(
        calls_mean=0.0,
        success_rate=None,
        answered_without_call=1.0,
        bands=(DifficultyBand(low=0.75, calls_mean=0.0, groups=1),),
    )


def test_what_the_machine_failed_is_in_no_measure() -> None:
    one = attempt(RUNS)
    lost = replace(one, trajectory=replace(one.trajectory, status="failed"))
    assert tool_use([lost]) == tool_use([]) == ToolUse()
    assert tool_use([one, lost]) == tool_use([one])


def test_a_group_is_as_right_as_its_reward_says() -> None:
    one = attempt(is_right=False)
    judged = replace(one.trajectory, score=Score(terms=(Term("accuracy", 0.25), Term("tool", 1.75))))
    assert tool_use([replace(one, trajectory=judged)]).bands == (DifficultyBand(low=0.25, calls_mean=0.0, groups=1),)


def test_a_tool_names_its_failures_in_a_word() -> None:
    assert failure_kind(TIMEOUT) == "timeout"
    assert failure_kind(failing({})) == "error"
    assert failure_kind(failing({"error_kind": "<b>" * 999})) == "error"
    assert failure_kind(failing({"error_kind": 7})) == "error"
    idle = replace(RUNS, result=ToolResult(text="", data={"work": "idle"}))
    assert [failure_kind(turn) for turn in (RUNS, REFUSED, UNSEEN, idle)] == [None, "refused", None, "idle"]
