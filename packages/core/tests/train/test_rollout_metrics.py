from dataclasses import replace

from saccade.train.rollout_metrics import rollout_metrics
from saccade.types import Attempt, Score, Task, ToolCall, ToolResult, Trajectory, TrajectoryStatus, Turn

TASK = Task(id="t", family="f", question="?", answer="3", answer_kind="integer", images=())


def attempt(status: TrajectoryStatus, cut_turns: int = 0) -> Attempt:
    trajectory = Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(),
        status=status,
        score=None if status == "failed" else Score(),
        cut_turns=cut_turns,
    )
    return Attempt(task=TASK, trajectory=trajectory)


def test_what_limits_end_is_counted_by_the_kind_of_limit() -> None:
    played = [attempt("token_limit"), attempt("turn_limit"), attempt("turn_limit"), attempt("answered")]
    metrics = rollout_metrics([*played, attempt("failed")])
    kinds = ("truncated", "out_of_tokens", "out_of_turns", "failed")
    assert [metrics[f"rollout/{kind}"] for kind in kinds] == [0.75, 0.25, 0.5, 1.0]
    assert "rollout/cut_turns" not in metrics


def test_turns_that_were_cut_off_and_corrected_are_counted() -> None:
    metrics = rollout_metrics([attempt("answered", cut_turns=3), attempt("turn_limit")])
    assert metrics["rollout/cut_turns"] == 1.5
    assert metrics["rollout/truncated"] == 0.5


def test_calls_are_counted_by_tool_and_refused_names_by_none() -> None:
    def calling(*names: str) -> Attempt:
        one = attempt("answered")
        turns = tuple(
            Turn(
                index=index,
                text="",
                thought="",
                action=ToolCall(name=name, arguments={}),
                is_well_formed=True,
                result=None if name == "made_up" else ToolResult(text="1"),
            )
            for index, name in enumerate(names)
        )
        return replace(one, trajectory=replace(one.trajectory, turns=turns))

    metrics = rollout_metrics([calling("crop", "crop", "zoom"), calling("made_up"), attempt("failed")])
    assert {name: value for name, value in metrics.items() if name.startswith("calls/of_")} == {
        "calls/of_crop": 1.0,
        "calls/of_zoom": 0.5,
    }
