"""Argos' reward in TRL's own trainer and by verl's call: the same pay, and no verdict is never 0."""

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from trl_small import small_trainer

from saccade.errors import MachineError, UserError
from saccade.geometry import Mask
from saccade.interop.trl import reward_function
from saccade.interop.verl import score_function
from saccade.media.resize import ResizeRule
from saccade.protocols.points import points_to_model
from saccade.rewards import OutcomeReward, Score
from saccade.rewards.argos import AnswerRequest, ArgosReward, ExactRegions, RegionRequest, Verifier
from saccade.rewards.hack_check import drawn_tasks
from saccade.rewards.hacks import honest, silent, wrong
from saccade.types import Task, Trajectory

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TASKS = drawn_tasks(2)
VIEW = ResizeRule(factor=28, min_pixels=1, max_pixels=1 << 20, convention="absolute")
REWARD = ArgosReward(verifier=Verifier(regions=ExactRegions()), reasoning_weight=0.0, measured_share=0.0)


def seen(task: Task, text: str) -> str:
    """A response with points in the frame of the view."""
    return points_to_model(text, task.images, VIEW)


def silent_machine(task: Task, trajectory: Trajectory) -> Score | None:
    """No verdict on what points at nothing."""
    return OutcomeReward(format_weight=0.0)(task, trajectory) if trajectory.turns[0].points else None


def test_trl_s_trainer_asks_it_and_leaves_out_what_has_no_verdict(tmp_path: Path) -> None:
    texts = [honest(TASKS[0]), silent(TASKS[0]), wrong(TASKS[1]), honest(TASKS[1])]
    said = [seen(TASKS[index // 2], text) for index, text in enumerate(texts)]
    function = reward_function(REWARD, TASKS, view=VIEW)
    scores: list[list[float | None]] = []

    def noted(**columns: object) -> list[float | None]:
        scores.append(function(**columns))  # type: ignore[arg-type]
        return scores[-1]

    rows = [{"prompt": [{"role": "user", "content": one.question}], "task": one.id} for one in TASKS]
    trainer = small_trainer(
        tmp_path, environment=None, rows=rows, reward=noted, say=lambda row, turn: said[row], sees=False
    )
    trainer.train()
    assert scores == [[1.0, 0.5, 0.0, 1.0]]
    [logged] = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert logged["reward"] == pytest.approx(0.625)
    assert (logged["verifier/grounding"], logged["verifier/no_points"]) == (pytest.approx(2 / 3), 0.25)

    failing = reward_function(silent_machine, TASKS, view=VIEW)
    other = small_trainer(
        tmp_path / "other", environment=None, rows=rows, reward=failing, say=lambda row, turn: said[row], sees=False
    )
    other.train()
    [logged] = [entry for entry in other.state.log_history if "reward" in entry]
    # The mean of 1, 0 and 1: what has no verdict is no 0.
    assert logged["rewards/verifier/mean"] == pytest.approx(2 / 3)


def test_completions_are_texts_or_messages_with_or_without_the_opening() -> None:
    [task, _] = TASKS
    text = honest(task)
    messages = [{"role": "assistant", "content": text}]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": text}]}]
    tool = [{"role": "assistant", "content": "<think>Hm.</think>"}, {"role": "tool", "content": text}]
    thought, answer = text.removeprefix("<think>").split("</think>")
    parted = [{"role": "assistant", "reasoning_content": thought, "content": answer}]
    function = reward_function(REWARD, TASKS)
    found = function(completions=[text, messages, parts, parted, tool, []], task=[task.id] * 6)
    assert found == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    opened = reward_function(REWARD, TASKS, opening="<think>")
    assert opened(completions=[text.removeprefix("<think>")], task=[task.id]) == [1.0]
    with pytest.raises(UserError, match="none of the 2 tasks"):
        function(completions=[text], task=["other"])
    with pytest.raises(UserError, match="have 1 different ids"):
        reward_function(REWARD, [task, task])


def as_verl_calls(function: object, text: str, extra_info: dict[str, object], **others: object) -> object:
    """As its naive manager does: by name, in a thread of the event loop's executor, beside what a config adds."""
    assert callable(function)
    assert not inspect.iscoroutinefunction(function)
    info = {**extra_info, "num_turns": None, "rollout_reward_scores": {}}
    call = partial(function, data_source="mine", solution_str=text, ground_truth="unused", extra_info=info, **others)

    async def run() -> object:
        return await asyncio.get_running_loop().run_in_executor(None, call)

    return asyncio.run(run())


def test_verl_s_call_is_paid_the_same() -> None:
    compute_score = score_function(REWARD, TASKS, view=VIEW)
    texts = {honest: (1.0, 1.0), silent: (0.5, 1.0), wrong: (0.0, 0.0)}
    for task in TASKS:
        for write, (score, acc) in texts.items():
            found = as_verl_calls(compute_score, seen(task, write(task)), {"task": task.id}, reward_router_address="x")
            assert found == {"score": score, "acc": acc}
    with pytest.raises(UserError, match="none of the 2 tasks"):
        as_verl_calls(compute_score, "", {"index": 0})
    only = score_function(REWARD, TASKS[:1])
    assert as_verl_calls(only, honest(TASKS[0]), {}) == {"score": 1.0, "acc": 1.0}


class Flaky:
    """Fails as often as it is told, then finds what is there."""

    identity = "flaky"

    def __init__(self, fails: int) -> None:
        self.fails, self.asked = fails, 0

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        self.asked += 1
        if self.asked <= self.fails:
            raise MachineError("down")
        return ExactRegions().find(requests)


def test_what_a_machine_fails_is_tried_again_and_then_raised_for_verl() -> None:
    once, ever = Flaky(fails=1), Flaky(fails=99)
    for regions in (once, ever):
        compute_score = score_function(
            replace(REWARD, verifier=Verifier(regions=regions)), TASKS, tries=3, wait_s=0.001
        )
        if regions is once:
            assert as_verl_calls(compute_score, honest(TASKS[0]), {"task": TASKS[0].id}) == {"score": 1.0, "acc": 1.0}
        else:
            with pytest.raises(MachineError, match=r"no verdict: down, 3 times; it must not be scored 0"):
                as_verl_calls(compute_score, honest(TASKS[0]), {"task": TASKS[0].id})
    assert (once.asked, ever.asked) == (2, 3)


def test_a_part_that_a_machine_failed_on_is_no_verdict_for_verl() -> None:
    """Alone, the accuracy that is left would be paid as the whole."""

    class Broken:
        identity = "broken"

        def find(self, requests: Sequence[RegionRequest], /) -> Sequence[MachineError]:
            return [MachineError("down")] * len(requests)

    broken = replace(REWARD, verifier=Verifier(regions=Broken()))
    with pytest.raises(MachineError, match="gave no verdict, 2 times"):
        as_verl_calls(score_function(broken, TASKS[:1], tries=2, wait_s=0.001), honest(TASKS[0]), {})


def test_a_teacher_that_failed_is_no_verdict_for_verl_and_none_for_trl() -> None:
    class Down:
        def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[MachineError]:
            return [MachineError("down")] * len(requests)

    of = replace(REWARD, verifier=Verifier(regions=ExactRegions(), teacher=Down()), reasoning_weight=1.0)
    with pytest.raises(MachineError, match="gave no verdict, 1 times"):
        as_verl_calls(score_function(of, TASKS[:1], tries=1), honest(TASKS[0]), {})
    texts = [honest(TASKS[0]), wrong(TASKS[0])]
    assert reward_function(of, TASKS)(completions=texts, task=[TASKS[0].id] * 2) == [None, 0.0]
