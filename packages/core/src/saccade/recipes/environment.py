"""Environments of others: reinforcement in any environment that ``--env`` names, by what it pays turn by turn.

Imitation of random play may come first (``--set sft.steps=100``) for a model that cannot write an action yet.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from saccade.algorithms import Algorithm
from saccade.config import RecipeContext, apply_overrides
from saccade.interop.environments.play import unlike_itself
from saccade.interop.environments.world import WorldSource
from saccade.models import base_checkpoint, load_model
from saccade.models.checkpoint import is_tiny
from saccade.recipes.environment_play import Episodes, episode_spec, open_source
from saccade.recipes.environment_settings import TINY, EnvironmentSettings
from saccade.rewards.environment import step_rewards
from saccade.train import Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream


def method(settings: EnvironmentSettings, material: Material, source: WorldSource) -> Sequence[Stage]:
    """Evaluation, imitation of random play if wanted, reinforcement with credit for single turns, evaluation."""
    episodes = episode_spec(settings, source)

    def evaluation(name: str) -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out[""], episodes=episodes, reward=settings.reward)

    def with_step_credit(algorithm: Algorithm) -> Algorithm:
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
        adapt_algorithm=with_step_credit,
        evaluation=evaluation("curve"),
    )
    return (evaluation("before"), *imitation, reinforcement, evaluation("after_rl"))


def environment(context: RecipeContext) -> Plan:
    """Reinforcement in the environment of ``--env``; ``--model`` for any but the base model."""
    path = context.model or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(path) else EnvironmentSettings(), context.overrides)
    source = open_source(context, settings)
    material = Material(
        title=f"{path.name} in {source.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        held_out={"": (episodes := Episodes(source, settings, context.seed)).held_out},
        questions=episodes.sampler,
        examples=episodes.shown_play,
        resources=(source,) if isinstance(source, AbstractContextManager) else (),
    )
    plan = material.plan(settings, method(settings, material, source))
    return replace(plan, remarks=tuple(filter(None, (unlike_itself(source),))))
