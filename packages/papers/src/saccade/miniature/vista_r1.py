"""VISTA-R1 in miniature: the gym's drawn questions, its offline tools, and a model made from nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from saccade.config import RecipeContext, apply_overrides
from saccade.miniature.gym import NUMBERS, PHRASES, TASK_TYPES, TOOL_FAMILIES, VistaQuestions, gym_tools, lesson_texts
from saccade.miniature.gym_lessons import LOOPS, VistaLessons, lessons_on
from saccade.miniature.schedules import IMITATION, REINFORCEMENT, imitates, in_epochs
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.models import VisionLanguageModel
from saccade.recipes.vista_r1 import method
from saccade.recipes.vista_settings import GymSettings, TailSettings, check_known
from saccade.rollout import RolloutSettings
from saccade.seeding import seed_for
from saccade.tasks import InOrder, TailPatch
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import StreamExample, Task


@dataclass(frozen=True, kw_only=True)
class TinyVistaSettings(GymSettings):
    """Settings of the miniature: minutes on one core."""

    sft: ImitationSettings = replace(IMITATION, steps=750, batch_size=24, checkpoint_every=250)
    rl: RLSettings = replace(REINFORCEMENT, tasks_per_step=14, warmup_steps=2)
    tail: TailSettings = TailSettings(steps=24)
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=48, max_tokens=512)
    size: TinySize = field(default_factory=TinySize)
    lessons: VistaLessons = VistaLessons()
    task_types: tuple[str, ...] = ()
    """Which types of questions are asked in reinforcement; none named is all seven. Evaluations ask all."""
    sft_questions: int = 2800
    """Different questions of the imitation; they are shown again and again."""
    slow_questions: int = 160
    """How many of each type whose tools read letters, a third of a second each."""
    rl_questions: int = 210
    """Different questions of the reinforcement."""
    evaluation_tasks: int = 210
    """Held-out questions of each evaluation, the same number of each type."""
    curve_tasks: int = 70

    def check(self) -> None:
        super().check()
        check_known(self.task_types, tuple(TASK_TYPES), "task_types")
        check_known(self.tool_families, tuple(TOOL_FAMILIES), "tool_families")


def tiny(context: RecipeContext) -> Plan:
    """The recipe in miniature, on drawn questions; ``--model`` of an earlier stage skips imitation."""
    settings = apply_overrides(TinyVistaSettings(), context.overrides)
    tools = tuple(gym_tools().values()) if settings.with_tools else ()
    seed = seed_for(context.seed, "vista")
    asked = VistaQuestions(seed=seed, media=context.media)
    trained = VistaQuestions(seed=seed, media=context.media, types=settings.task_types or tuple(TASK_TYPES))
    lesson = lessons_on(
        asked,
        settings.lessons,
        questions=settings.sft_questions,
        slow_questions=settings.slow_questions,
        seed=context.seed,
        with_tools=settings.with_tools,
        reasoning=settings.reasoning,
    )
    has_lessons = imitates(context, settings.sft.steps)

    def shown(index: int, progress: float) -> StreamExample:
        return StreamExample(example=lesson(index, progress))

    def question(number: int) -> Task:
        # After the pictures of the imitation, so that none comes twice.
        return trained.example("train", settings.sft_questions + number).task

    @cache
    def numbers() -> dict[str, int]:
        with context.media.temporary():
            return {question(number).id: number for number in range(settings.rl_questions)}

    def held_out(count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [asked.example("held_out", number).task for number in range(count)]

    material = Material(
        title="A tiny model learns when to call which tool",
        build_model=lambda: _model(settings, context),
        style="brief",
        questions=lambda: InOrder(lambda number: question(in_epochs(number, settings.rl_questions, context.seed))),
        held_out={"": held_out(settings.evaluation_tasks), "curve": held_out(settings.curve_tasks)},
        examples=shown if has_lessons else None,
        first="curve" if has_lessons and "sft" in settings.stages else None,
    )
    tail = TailPatch(keys=lambda: list(numbers()), task_of=lambda key: question(numbers()[key]), seed=context.seed)
    return material.plan(settings, method(settings, material, tools, tail))


def _model(settings: TinyVistaSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_or_given(
        context.model,
        lesson_texts(),
        context.media,
        size=settings.size,
        numbers=NUMBERS,
        phrases=(*PHRASES, *LOOPS) if settings.lessons.loop_share else PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
