"""CodeDance in miniature: drawn questions, experts who slip and guess, and a model made from nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from saccade.config import RecipeContext, apply_overrides
from saccade.learner import OptimizerSettings
from saccade.miniature.code_lessons import EASY, HARD, PHRASES, CodeQuestions, Lessons, lesson_texts, lessons_on
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.recipes.codedance import method
from saccade.recipes.codedance_settings import CodeDanceSettings
from saccade.rollout import RolloutSettings
from saccade.sandbox import Sandbox
from saccade.seeding import seed_for
from saccade.tasks import InOrder
from saccade.tools import RememberedSessions
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import StreamExample, Task


@dataclass(frozen=True, kw_only=True)
class TinyCodeDanceSettings(CodeDanceSettings):
    """The same in miniature: minutes on one core."""

    sft: ImitationSettings = ImitationSettings(
        steps=600,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=1.5e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
        checkpoint_every=300,
    )
    rl: RLSettings = RLSettings(
        steps=40,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        final_rate=0.1,
        checkpoint_every=20,
        evaluate_every=10,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=40, max_tokens=384)
    size: TinySize = field(default_factory=TinySize)
    lessons: Lessons = Lessons()
    sft_questions: int = 1200
    """Different questions of the imitation; they are shown again and again."""
    easy_share: float = 0.4
    """Easy questions among those of the reinforcement."""
    difficulty: float = 0.5
    """Difficulty of the hard questions."""
    evaluation_tasks: int = 160
    """Held-out questions of each evaluation, easy or hard."""
    curve_tasks: int = 60
    """Held-out questions of the mixture for each point of the learning curve."""


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinyCodeDanceSettings(), context.overrides)
    sandbox = Sandbox(isolation=settings.isolation)
    asked = CodeQuestions(seed=seed_for(context.seed, "codedance"), media=context.media, difficulty=settings.difficulty)
    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)
    # After the pictures of the imitation, so that no question comes twice.
    imitated = settings.sft_questions + 1

    def mixture() -> Sequence[Task]:
        return [asked.example("held_out", index, settings.easy_share).task for index in range(settings.curve_tasks)]

    def held_out(families: Sequence[str]) -> Callable[[], Sequence[Task]]:
        def tasks() -> Sequence[Task]:
            numbers = range(settings.evaluation_tasks)
            return [asked.of(families[i % len(families)], "held_out", i // len(families)).task for i in numbers]

        return tasks

    def shown(index: int, progress: float) -> StreamExample:
        return StreamExample(example=lesson(index, progress))

    material = Material(
        title="A tiny model writes code where it pays",
        build_model=lambda: tiny_or_given(
            context.model,
            lesson_texts(),
            context.media,
            size=settings.size,
            phrases=PHRASES,
            seed=seed_for(context.seed, "weights"),
        ),
        style="brief",
        questions=lambda: InOrder(lambda number: asked.example("train", imitated + number, settings.easy_share).task),
        held_out={"easy": held_out(EASY), "hard": held_out(HARD), "curve": mixture},
        examples=None if context.model is not None else shown,
        first=None,
        resources=(sandbox,),
    )
    # Imitation shows its questions several times, and samples of one question often write the same code.
    return material.plan(settings, method(settings, material, RememberedSessions(sandbox, max_runs=2048)))
