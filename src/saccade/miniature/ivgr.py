"""iVGR in miniature: drawn plates with an exact judge, and a model made from nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saccade.config import RecipeContext, apply_overrides
from saccade.evaluation import Views
from saccade.learner import OptimizerSettings
from saccade.miniature.judges import PLACE, PLACES, ExactJudge, TinyJudgeSettings
from saccade.miniature.stream_lessons import NUMBERS, PHRASES, StreamLessons, StreamQuestions, lesson_texts, lessons_on
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.models import VisionLanguageModel
from saccade.recipes.ivgr import method
from saccade.recipes.ivgr_settings import BOXED, PLAIN, TwoStreamSettings
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder
from saccade.tasks.families.plates import MARKS
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import Task

EXACT = ExactJudge(values={PLACE: PLACES, "mark": tuple(MARKS)})
"""The judge of drawn plates."""


@dataclass(frozen=True, kw_only=True)
class TinyIvgrSettings(TwoStreamSettings):
    """The same in miniature: minutes on one core."""

    judge: TinyJudgeSettings = TinyJudgeSettings()
    boxed_per_step: int = 9
    sft: ImitationSettings = ImitationSettings(
        steps=1600,
        batch_size=32,
        optimizer=OptimizerSettings(learning_rate=2e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
        checkpoint_every=400,
    )
    rl: RLSettings = RLSettings(
        steps=60,
        tasks_per_step=11,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        final_rate=0.1,
        checkpoint_every=20,
        evaluate_every=20,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=64, max_tokens=640)
    size: TinySize = field(default_factory=TinySize)
    lessons: StreamLessons = StreamLessons()
    sft_questions: int = 16_000
    """Different questions of the imitation; they come again in other streams."""
    rl_questions: int = 180
    """Different questions with boxes of the reinforcement: 20 steps ask each of them once in both streams."""
    difficulty: float = 0.5
    evaluation_tasks: int = 300
    """Held-out questions of each evaluation, half of them of each family."""
    curve_tasks: int = 60

    @property
    def looks(self) -> Mapping[str, Views]:
        """All of the paper's Table 4."""
        shown = {"crops": (True, False), "union": (False, True), "crops_union": (True, True)} if self.test_time else {}
        return {name: Views(crops=crops, union=union, cut=self.views) for name, (crops, union) in shown.items()}


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinyIvgrSettings(), context.overrides)
    asked = StreamQuestions(seed=seed_for(context.seed, "ivgr"), media=context.media, difficulty=settings.difficulty)
    exact = replace(EXACT, knows_truth=settings.judge.knows_truth)
    judged = settings.judge.spoiled(settings.judges(context, exact), seed=seed_for(context.seed, "judge"))
    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)
    imitates = settings.sft.steps > 0 and context.model is None

    def boxed(number: int) -> Task:
        epoch, place = divmod(number, settings.rl_questions)
        order = generator_for(context.seed, "rl", "epoch", epoch).permutation(settings.rl_questions)
        # After the pictures of the imitation, so that none comes twice.
        return asked.boxed("train", settings.sft_questions + int(order[place])).task

    def plain(number: int) -> Task:
        return asked.general("train", settings.sft_questions + number).task

    def held_out(count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [asked.boxed("held_out", index).task for index in range(count)]

    material = Material(
        title="A tiny model makes its looking its own",
        build_model=lambda: _model(settings, context),
        style="brief",
        sources={
            BOXED: lambda streams: InOrder(boxed, streams=streams),
            PLAIN: lambda streams: InOrder(plain, streams=streams),
        },
        held_out={"": held_out(settings.evaluation_tasks), "curve": held_out(settings.curve_tasks)},
        examples=lesson if imitates else None,
        first="curve" if imitates else None,
        resources=judged.resources,
        meters=judged.meters,
    )
    return material.plan(settings, method(settings, material, judged))


def _model(settings: TinyIvgrSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_or_given(
        context.model,
        lesson_texts(),
        context.media,
        size=settings.size,
        numbers=NUMBERS,
        phrases=PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
