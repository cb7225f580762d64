"""Playing tasks once and scoring them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError
from saccade.evaluation.evaluate import evaluation_requests, play
from saccade.evaluation.summary import summarise
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.reward import AnyReward, GroupScores, OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.tools.tool import tool_from
from saccade.types import Attempt, Json, Score, Task, Term, Trajectory

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


def played(script: list[list[str]], *, reward: AnyReward = REWARD, samples: int = 1) -> list[Attempt]:
    """A task for each row of turns, or for as many rows as there are samples; their answers are red, green and blue."""
    media = MediaStore()
    chat = letter_chat(TINY_VIEW)
    return play(
        evaluation_requests(
            [tiny_example(media, index).task for index in range(len(script) // samples)],
            seed=3,
            name="after",
            samples=samples,
        ),
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
        reward=reward,
    )


def test_what_the_machine_failed_is_never_scored_and_the_rest_is() -> None:
    attempts = played([[answer("red")], [call("true"), answer("green")], [call("false"), answer("pink")]])
    trajectories = [attempt.trajectory for attempt in attempts]
    assert [(one.status, one.score) for one in trajectories] == [
        ("answered", Score(terms=(Term("accuracy", 1.0), Term("format", 1.0, 0.5)), is_right=True)),
        ("failed", None),
        ("answered", Score(terms=(Term("accuracy", 0.0), Term("format", 1.0, 0.5)), is_right=False)),
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
    assert attempt.trajectory.score == Score(terms=(Term("accuracy", 0.0), Term("format", 0.0, 0.5)), is_right=False)


def test_nothing_to_play_is_nothing_played() -> None:
    assert played([]) == []


def test_a_failed_trajectory_never_reaches_the_reward() -> None:
    def reward(task: Task, trajectory: Trajectory) -> Score:
        raise AssertionError("asked to score a failure")

    [attempt] = played([[call("true")]], reward=reward)
    assert (attempt.trajectory.status, attempt.trajectory.score) == ("failed", None)


async def judged(task: Task, trajectory: Trajectory) -> Score | None:
    """A judge that has no verdict on blue, and whose machine fails on pink."""
    await asyncio.sleep(0)
    if trajectory.answer == "pink":
        raise MachineError("the judge is down")
    return None if trajectory.answer == "blue" else REWARD(task, trajectory)


class BestOfTask:
    """Pays the first right one of a task's attempts, and remembers what must not reach another evaluation."""

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        assert memory is None
        (members,) = groups.values()
        right = [one.sample for one in members if one.answer == task.answer]
        return GroupScores(
            scores={"evaluation": [Score(terms=(Term("first", float(one.sample in right[:1])),)) for one in members]},
            memory="seen",
        )


class BestOfTaskAsync(BestOfTask):
    async def score_groups(  # type: ignore[override]
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        await asyncio.sleep(0)
        return super().score_groups(task, groups, memory)


def test_a_judge_may_score_an_evaluation_and_what_it_has_no_verdict_on_is_never_wrong() -> None:
    attempts = played([[answer("red")], [answer("blue")], [answer("pink")]], reward=judged)
    assert [(one.trajectory.status, one.trajectory.score and one.trajectory.score.total) for one in attempts] == [
        ("answered", 1.5),
        ("failed", None),
        ("failed", None),
    ]
    assert [one.trajectory.failure for one in attempts] == [
        "",
        "the reward gave no verdict",
        "the reward gave no verdict: the judge is down",
    ]
    summary = summarise("after", [(attempt.task, attempt.trajectory) for attempt in attempts])
    assert (summary.overall.accuracy, summary.overall.n, summary.unfinished.failed) == (1.0, 1, 2)


@pytest.mark.parametrize("reward", [BestOfTask(), BestOfTaskAsync()])
def test_a_group_reward_sees_the_attempts_of_a_task_together(reward: AnyReward) -> None:
    texts = ["red", "red", "pink", "green", "red", "green"]
    attempts = played([[answer(text)] for text in texts], reward=reward, samples=3)
    assert [one.trajectory.score and one.trajectory.score.total for one in attempts] == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_the_reward_decides_what_is_right_where_it_says() -> None:
    def lenient(task: Task, trajectory: Trajectory) -> Score:
        return Score(is_right=trajectory.answer in ("red", "crimson"))

    [attempt] = played([[answer("crimson")]], reward=lenient)
    assert summarise("after", [(attempt.task, attempt.trajectory)]).overall.accuracy == 1.0


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
