"""Environments of others: reinforcement in any environment that ``--env`` names, by what it pays turn by turn.

Imitation of random play may come first (``--set sft.steps=100``) for a model that cannot write an action yet.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from saccade.algorithms import Algorithm
from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.interop.environments.play import random_example, unlike_itself
from saccade.interop.environments.world import NumberedEpisode, Split, WorldSource, episode_task
from saccade.interop.environments.world_env import WorldEnv
from saccade.models import base_checkpoint, load_model
from saccade.models.checkpoint import is_tiny
from saccade.recipes.environment_settings import TINY, EnvironmentSettings
from saccade.rewards.environment import step_rewards
from saccade.seeding import seed_for
from saccade.tasks import Shuffled, TaskSampler
from saccade.tasks.curriculum import InOrder
from saccade.train import EpisodeSpec, Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream
from saccade.types import StreamExample, Task


def method(settings: EnvironmentSettings, material: Material, source: WorldSource) -> Sequence[Stage]:
    """Evaluation, imitation of random play if wanted, reinforcement with credit for single turns, evaluation."""
    episodes = EpisodeSpec(
        make_env=partial(WorldEnv, source=source, settings=settings.show),
        rollout=settings.rollout,
        max_turns=settings.max_turns,
    )

    def evaluation(name: str) -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out[""], episodes=episodes, reward=settings.reward)

    def credited(algorithm: Algorithm) -> Algorithm:
        weight = settings.reward.weight
        return settings.credit.added_to(algorithm, lambda one: [weight * reward for reward in step_rewards(one)])

    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps:
        shown = material.demonstrations({"main": episodes})
        imitation = (SFTStage(name="sft", source=shown, settings=settings.sft), evaluation("after_sft"))
    reinforcement = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=material.questions,
        reward=settings.reward,
        settings=settings.rl,
        adapt_algorithm=credited,
        evaluation=evaluation("curve"),
    )
    return (evaluation("before"), *imitation, reinforcement, evaluation("after_rl"))


@dataclass(frozen=True)
class Episodes:
    """The episodes of an environment, as tasks."""

    source: WorldSource
    settings: EnvironmentSettings
    seed: int

    def held_out(self) -> list[Task]:
        """Those that are measured."""
        count = self.source.count("test")
        wanted = self.settings.held_out if count is None else min(count, self.settings.held_out)
        return [self._task(number, "test") for number in range(wanted)]

    def sampler(self) -> TaskSampler:
        """Training episodes: new ones without an end, or those that there are, shuffled."""
        counts = [count for count in (self.source.count("train"), self.settings.episodes or None) if count is not None]
        if not counts:
            return InOrder(self._task)
        return Shuffled([self._task(number) for number in range(min(counts))], seed=seed_for(self.seed, "rl"))

    def random_play(self, index: int, _: float) -> StreamExample:
        """Random play in a training episode."""
        count = self.source.count("train") or 1 << 30
        episode = NumberedEpisode(number=seed_for(self.seed, "random play", index) % count)
        seed = seed_for(self.seed, "random actions", index)
        return StreamExample(
            example=random_example(self.source, episode, max_turns=self.settings.max_turns, seed=seed), stream="main"
        )

    def _task(self, number: int, split: Split = "train") -> Task:
        return episode_task(self.source.name, NumberedEpisode(number=number, split=split))


def opened(context: RecipeContext, settings: EnvironmentSettings) -> WorldSource:
    """The environment of ``--env``; UserError where there is none, or where it cannot teach what is asked."""
    if context.env is None:
        raise UserError(
            "this recipe trains in an environment; name one: --env gymnasium:MiniGrid-Empty-5x5-v0, verifiers:NAME, "
            "openenv:URL, reasoning_gym:NAME, textarena:ID or FILE.py:NAME"
        )
    source = settings.environment.open(context.env)
    if settings.sft.steps and not source.actions():
        raise UserError(
            f"{source.name} takes any text as an action, so that there is no random play to imitate; name some by "
            "environment.action_names=…, or set sft.steps=0"
        )
    return source


def environment(context: RecipeContext) -> Plan:
    """Reinforcement in the environment of ``--env``; ``--model`` for any but the base model."""
    path = context.model or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(path) else EnvironmentSettings(), context.overrides)
    source = opened(context, settings)
    material = Material(
        title=f"{path.name} in {source.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        held_out={"": (episodes := Episodes(source, settings, context.seed)).held_out},
        questions=episodes.sampler,
        examples=episodes.random_play,
        resources=(source,) if isinstance(source, AbstractContextManager) else (),
    )
    plan = material.plan(settings, method(settings, material, source))
    return replace(plan, remarks=tuple(filter(None, (unlike_itself(source),))))
