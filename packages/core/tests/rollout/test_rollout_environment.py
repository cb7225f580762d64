"""Rollouts in the real environment with its real tools."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from saccade.engines.engine import Completion
from saccade.engines.local import LocalEngine
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.miniature.tiny_model import tiny_model
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.seeding import seed_for
from saccade.tasks.procedural import generate

SETTINGS = RolloutSettings(max_turn_tokens=300, max_tokens=20_000)


@dataclass
class ReplayingEngine:
    """Says the action segments of given trajectories again, one trajectory per slot."""

    trajectories: list
    policy_version: int = 3

    @asynccontextmanager
    async def sequences(self, labels):
        yield [
            ReplayingSlot([segment.ids for segment in trajectory.segments if segment.role == "action"])
            for trajectory in self.trajectories
        ]


@dataclass
class ReplayingSlot:
    turns: list

    async def sample(self, ids, images, sampling):
        await asyncio.sleep(0)
        said = self.turns.pop(0)
        return Completion(ids=said, logprobs=(-0.5,) * len(said), finish="eos")

    def close(self) -> None: ...


@pytest.fixture(scope="module", params=["qwen3_vl", "qwen2_5_vl", "internvl"])
def vlm(request, media):
    env = VisualReasoningEnv(family="visual_search", media=media, shows_pixels=False)
    text, _ = env.reset(seed=0)
    return tiny_model([text["text"]] * 3, media, family=request.param)


def requests_of(examples, samples):
    return [
        RolloutRequest(
            task=example.task,
            stream="main",
            sample=sample,
            seed=seed_for(0, "rollout", "test", 0, example.task.id, "main", sample),
        )
        for example in examples
        for sample in range(samples)
    ]


def test_the_experts_own_tokens_roll_out_to_its_demonstration(vlm, media):
    examples = [generate("visual_search", split="train", index=index, seed=1, media=media) for index in range(3)]

    def make_env():
        return VisualReasoningEnv(media=media, view=vlm.view, shows_pixels=False)

    shown = [demonstrate(example, env=make_env(), chat=vlm.chat) for example in examples]
    played = rollout_batch(
        requests_of(examples, 1), engine=ReplayingEngine(shown), chat=vlm.chat, make_env=make_env, settings=SETTINGS
    )
    for trajectory, demonstration, example in zip(played, shown, examples):
        assert trajectory.status == "answered"
        assert trajectory.answer == example.task.answer
        assert (trajectory.ids, trajectory.images) == (demonstration.ids, demonstration.images)
        assert trajectory.action_mask == demonstration.action_mask
        assert trajectory.turns == demonstration.turns
        assert len(trajectory.images) > len(example.task.images)
        assert trajectory.policy_version == 3


def test_an_untrained_model_rolls_out_to_the_same_trajectories_twice(vlm, media):
    examples = [generate("visual_search", split="train", index=index, seed=1, media=media) for index in range(2)]

    def once():
        return rollout_batch(
            requests_of(examples, 3),
            engine=LocalEngine(vlm, max_rows=4),
            chat=vlm.chat,
            make_env=lambda: VisualReasoningEnv(media=media, view=vlm.view, max_turns=2, shows_pixels=False),
            settings=RolloutSettings(max_turn_tokens=10, max_tokens=20_000),
        )

    first = once()
    assert first == once()
    assert {trajectory.status for trajectory in first} <= {"token_limit", "turn_limit", "answered"}
    assert all(len(segment.logprobs) == len(segment.ids) for t in first for segment in t.segments[1::2])
