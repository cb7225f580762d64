"""Reinforcement from a checkpoint that already sees: it learns where to look.

The base model finds things, but a short imitation of a careless expert, who mostly crops the middle and then
guesses, gives it a bad habit: it could see where to look and does not go there, like a pretrained model that was
never rewarded for looking. Reinforcement rewards nothing but the answer; the report's ``look`` metrics tell how well
the crops fit what the answer depends on. With ``--set sft.steps=0`` the habit is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.miniature.habits import centred
from saccade.models import LoadSettings, VisionLanguageModel, base_checkpoint, instruction_style, load_model
from saccade.protocols import tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import CurriculumSettings, TaskSampler, drawn_questions, generate
from saccade.tools import IMAGE_TOOLS
from saccade.train import (
    AlgorithmSettings,
    Demonstration,
    EpisodeSpec,
    Evaluate,
    ImitationSettings,
    Plan,
    RLSettings,
    RLStage,
    SFTStage,
    Stage,
    Stream,
)
from saccade.types import Example, Task


@dataclass(frozen=True, kw_only=True)
class LookCloserSettings:
    """Settings of reinforcement from a model that sees."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings(
        steps=150,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=10,
        decay="cosine",
        final_rate=0.1,
    )
    careless_share: float = 0.75
    """Share of demonstrations whose expert looks at the middle."""
    rl: RLSettings = RLSettings(
        steps=40,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=20,
        evaluate_every=10,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=96, max_tokens=2048)
    families: tuple[str, ...] = ("visual_search",)
    """Families whose experts begin with a crop."""
    difficulty: float = 0.5
    curriculum: CurriculumSettings = CurriculumSettings()
    """Difficulty and families by the pass rate; by default neither changes."""
    max_turns: int = 5
    evaluation_tasks: int = 300
    curve_tasks: int = 100


def look_closer(context: RecipeContext) -> Plan:
    """Imitation of looking closer, then reinforcement; each is measured on held-out pictures of the same families."""
    settings = apply_overrides(LookCloserSettings(), context.overrides)
    path = context.model or base_checkpoint()
    episodes = EpisodeSpec(
        protocol=tagged_protocol(style=instruction_style(path), max_turns=settings.max_turns),
        tools=IMAGE_TOOLS,
        rollout=settings.rollout,
        max_turns=settings.max_turns,
    )
    reward = OutcomeReward(accuracy_weight=1.0, format_weight=0.1)

    def example(split: str, index: int) -> Example:
        family = settings.families[index % len(settings.families)]
        return generate(
            family,
            split=split,
            index=index // len(settings.families),
            seed=seed_for(context.seed, "look_closer"),
            media=context.media,
            difficulty=settings.difficulty,
        )

    def task(split: str, index: int) -> Task:
        return example(split, index).task

    def demonstration(index: int, _: float) -> Demonstration:
        chance = generator_for(context.seed, "demonstration", index)
        shown, other = example("train", 2 * index), example("train", 2 * index + 1)
        if chance.random() < settings.careless_share:
            try:
                shown = centred(shown, other=other)
            except ValueError as error:
                raise UserError(
                    f"families: {error}, and the careless expert crops the middle; name programs whose experts crop "
                    "first, such as shape_places/corner, or set careless_share=0"
                ) from error
        return Demonstration(example=shown, episodes=episodes)

    def evaluation(name: str, count: int) -> Evaluate:
        def held_out() -> Sequence[Task]:
            return [task("held_out", index) for index in range(count)]

        return Evaluate(name=name, tasks=held_out, episodes=episodes, reward=reward)

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    def questions() -> TaskSampler:
        # After the pictures of the imitation, so that no question comes twice.
        imitated = 2 * settings.sft.steps * settings.sft.batch_size
        return drawn_questions(
            settings.families,
            settings.curriculum,
            seed=seed_for(context.seed, "look_closer"),
            media=context.media,
            difficulty=settings.difficulty,
            first=imitated,
        )

    habit: tuple[Stage, ...] = ()
    if settings.sft.steps:
        stage = SFTStage(name="sft", source=demonstration, settings=settings.sft)
        habit = (stage, evaluation("after_sft", settings.evaluation_tasks))
    return Plan(
        title=f"{path.name} learns where to look",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(
            evaluation("before", settings.evaluation_tasks),
            *habit,
            RLStage(
                name="rl",
                streams=(Stream(name="main", episodes=episodes),),
                questions=questions,
                reward=reward,
                settings=settings.rl,
                evaluation=evaluation("curve", settings.curve_tasks),
            ),
            evaluation("after_rl", settings.evaluation_tasks),
        ),
    )
