"""Measures a checkpoint on the user's own tasks or on held-out procedural ones, with tools and without."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.models.base import base_checkpoint, instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.tasks.procedural import FAMILIES, generate
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.context import RecipeContext
from saccade.train.own_tasks import own_tasks
from saccade.train.plan import Episodes, Evaluate, Plan
from saccade.train.settings import apply_overrides
from saccade.types import Task

DEFAULT_COUNT = 256
"""Held-out tasks of a procedural family."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation."""

    model: LoadSettings = LoadSettings()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 6
    difficulty: float = 0.5
    """Of procedural tasks."""
    with_tools: bool = True
    without_tools: bool = True


def evaluation(
    context: RecipeContext, *, family: str | None = None, count: int | None = None, temperature: float = 0.0
) -> Plan:
    """One evaluation with the image tools and one without; UserError when there is nothing to measure on."""
    settings = apply_overrides(EvaluationSettings(), context.overrides)
    path = context.model or base_checkpoint()
    tasks = _tasks(context, family, count, settings.difficulty)
    style = instruction_style(path)
    reward = OutcomeReward()
    variants = {
        "with_tools": Episodes(
            protocol=tagged_protocol(style=style, max_turns=settings.max_turns),
            tools=IMAGE_TOOLS,
            rollout=settings.rollout,
            max_turns=settings.max_turns,
        ),
        "without_tools": Episodes(
            protocol=direct_protocol(style=style, max_turns=1), tools=(), rollout=settings.rollout, max_turns=1
        ),
    }
    wanted = {"with_tools": settings.with_tools, "without_tools": settings.without_tools}

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    return Plan(
        title=f"Evaluation of {path.name}",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=tuple(
            Evaluate(name=name, tasks=lambda: tasks, episodes=episodes, reward=reward, temperature=temperature)
            for name, episodes in variants.items()
            if wanted[name]
        ),
    )


def _tasks(context: RecipeContext, family: str | None, count: int | None, difficulty: float) -> Sequence[Task]:
    if context.data is not None:
        return own_tasks(context.data, context)[:count]
    if family is None:
        raise UserError(f"nothing to measure on: give --data PATH or --family NAME (one of {', '.join(FAMILIES)})")
    return [
        generate(
            family, split="held_out", index=index, seed=context.seed, media=context.media, difficulty=difficulty
        ).task
        for index in range(count or DEFAULT_COUNT)
    ]
