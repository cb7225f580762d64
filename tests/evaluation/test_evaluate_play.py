"""Playing tasks once and scoring them."""

from dataclasses import replace

import pytest

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError
from saccade.evaluation.evaluate import evaluation_requests, play, scored
from saccade.evaluation.summary import summarise
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.testing.letters import letter_chat
from saccade.testing.scripted_engine import ScriptedEngine
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.tools.tool import tool_from
from saccade.types import Attempt, Score, Task, Trajectory

REWARD = OutcomeReward(accuracy_weight=1.0, format_weight=0.5)


def telescope(far: bool) -> str:
    """Looks at something far away or near."""
    if far:
        raise MachineError("the telescope is out of reach")
    return "a square"


def call(far: str) -> str:
    return '<think></think><tool_call>{"name": "telescope", "arguments": {"far": ' + far + "}}</tool_call>"


def answer(text: str) -> str:
    return f"<think></think><answer>{text}</answer>"


def played(script: list[list[str]]) -> list[Attempt]:
    """One task for each row of turns; the first task's answer is red, the second's green."""
    media = MediaStore()
    chat = letter_chat(TINY_VIEW)
    return play(
        evaluation_requests([tiny_example(media, index).task for index in range(len(script))], seed=3, name="after"),
        engine=ScriptedEngine(script=script, chat=chat, policy_version=5),
        chat=chat,
        make_env=lambda: VisualReasoningEnv(
            protocol=tagged_protocol(style="brief"),
            tools=(tool_from(telescope),),
            media=media,
            view=TINY_VIEW,
            max_turns=2,
            shows_pixels=False,
        ),
        settings=RolloutSettings(max_turn_tokens=200, machine_retries=0),
        reward=REWARD,
    )


def test_what_the_machine_failed_is_never_scored_and_the_rest_is() -> None:
    attempts = played([[answer("red")], [call("true"), answer("green")], [call("false"), answer("pink")]])
    trajectories = [attempt.trajectory for attempt in attempts]
    assert [(one.status, one.score) for one in trajectories] == [
        ("answered", Score(total=1.5, parts={"accuracy": 1.0, "format": 1.0})),
        ("failed", None),
        ("answered", Score(total=0.5, parts={"accuracy": 0.0, "format": 1.0})),
    ]
    assert "the telescope is out of reach" in trajectories[1].failure
    assert [(one.task_id, one.stream, one.sample, one.policy_version) for one in trajectories] == [
        (f"tiny/{index:06d}", "evaluation", 0, 5) for index in range(3)
    ]
    summary = summarise("after", [(attempt.task, attempt.trajectory) for attempt in attempts])
    assert (summary.overall.accuracy, summary.overall.n, summary.unfinished.failed) == (0.5, 2, 1)


def test_a_run_out_of_turns_is_scored_for_it_had_its_chance() -> None:
    [attempt] = played([[call("false"), call("false")]])
    assert attempt.trajectory.status == "turn_limit"
    assert attempt.trajectory.score == Score(total=0.0, parts={"accuracy": 0.0, "format": 0.0})


def test_nothing_to_play_is_nothing_played() -> None:
    assert played([]) == []


def test_a_failed_trajectory_never_reaches_the_reward() -> None:
    def reward(task: Task, trajectory: Trajectory) -> Score:
        raise AssertionError("asked to score a failure")

    [attempt] = played([[call("true")]])
    assert scored(attempt.task, attempt.trajectory, reward) is attempt.trajectory


def test_the_seed_of_an_evaluation_depends_on_the_task_alone() -> None:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(4)]
    together = {request.task.id: request.seed for request in evaluation_requests(tasks, seed=3, name="after")}
    assert len(set(together.values())) == 4
    for chosen in (tasks[::-1], tasks[2:], [replace(tasks[1], question="Which?")]):
        for request in evaluation_requests(chosen, seed=3, name="after"):
            assert (request.seed, request.stream, request.sample) == (together[request.task.id], "evaluation", 0)


@pytest.mark.parametrize(("seed", "name"), [(4, "after"), (3, "before")])
def test_another_run_or_evaluation_has_other_seeds(seed: int, name: str) -> None:
    tasks = [tiny_example(MediaStore(), 0).task]
    [usual] = evaluation_requests(tasks, seed=3, name="after")
    [other] = evaluation_requests(tasks, seed=seed, name=name)
    assert other.seed != usual.seed
