"""Reinforcement from a checkpoint that already sees: it learns to look in better places.

GRPO on procedural families, by default from the base model that ships. Nothing but the answer is rewarded; the report's
``look`` metrics tell how well the crops fit what the answer depends on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.learner.learner import OptimizerSettings
from saccade.models.base import base_checkpoint, instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.seeding import seed_for
from saccade.tasks.curriculum import InOrder
from saccade.tasks.procedural import generate
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.algorithm_choice import AlgorithmSettings, chosen
from saccade.train.context import RecipeContext
from saccade.train.plan import Episodes, Evaluate, Plan, Reinforce, ReinforceSettings, Stream
from saccade.train.settings import apply_overrides
from saccade.types import Task


@dataclass(frozen=True, kw_only=True)
class LookCloserSettings:
    """Settings of reinforcement from a model that sees."""

    model: LoadSettings = LoadSettings()
    rl: ReinforceSettings = ReinforceSettings(
        steps=50,
        tasks_per_step=48,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=5e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=20,
        evaluate_every=10,
    )
    families: tuple[str, ...] = ("visual_search",)
    difficulty: float = 1.0
    """At 1 there are up to six plates in eight colours, some of them alike."""
    max_turns: int = 5
    evaluation_tasks: int = 300
    curve_tasks: int = 100


def look_closer(context: RecipeContext) -> Plan:
    """Evaluation, GRPO, evaluation on held-out pictures of the same families."""
    settings = apply_overrides(LookCloserSettings(), context.overrides)
    path = context.model or base_checkpoint()
    episodes = Episodes(
        protocol=tagged_protocol(style=instruction_style(path), max_turns=settings.max_turns),
        tools=IMAGE_TOOLS,
        rollout=RolloutSettings(max_turn_tokens=96, max_tokens=2048),
        max_turns=settings.max_turns,
    )
    reward = OutcomeReward(accuracy_weight=1.0, format_weight=0.1)

    def task(split: str, index: int) -> Task:
        family = settings.families[index % len(settings.families)]
        return generate(
            family,
            split=split,
            index=index // len(settings.families),
            seed=seed_for(context.seed, "look_closer"),
            media=context.media,
            difficulty=settings.difficulty,
        ).task

    def evaluation(name: str, count: int) -> Evaluate:
        def held_out() -> Sequence[Task]:
            return [task("held_out", index) for index in range(count)]

        return Evaluate(name=name, tasks=held_out, episodes=episodes, reward=reward)

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    return Plan(
        title=f"{path.name} learns to look in better places",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(
            evaluation("before", settings.evaluation_tasks),
            Reinforce(
                name="rl",
                streams=(Stream(name="main", episodes=episodes),),
                questions=lambda: InOrder(lambda index: task("train", index)),
                reward=reward,
                algorithm=chosen(settings.rl.algorithm, action_tokens=episodes.max_action_tokens),
                settings=settings.rl,
                evaluation=evaluation("curve", settings.curve_tasks),
            ),
            evaluation("after_rl", settings.evaluation_tasks),
        ),
    )
