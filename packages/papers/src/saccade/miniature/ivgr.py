"""iVGR in miniature: drawn plates in both streams with an exact judge, and a model made from nothing.

As in the paper's cold start most demonstrations are grounded. Some of those in plain words also see crops of what
matters, as the second pass of test-time scaling shows them: a model made from nothing has never seen two pictures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from numpy.random import Generator

from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.evaluation import Views
from saccade.geometry import enclosing_box
from saccade.gym.drawn.plates import CELL_PX, MARKS, draw_plate_five
from saccade.media import MediaStore
from saccade.miniature.judges import PLACE, PLACES, ExactJudge, TinyJudgeSettings
from saccade.miniature.schedules import (
    IMITATION,
    REINFORCEMENT,
    check_shares,
    drawn_once,
    habit_of,
    imitates,
    in_epochs,
)
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.models import VisionLanguageModel
from saccade.recipes.ivgr import method
from saccade.recipes.ivgr_settings import BOXED, PLAIN, TwoStreamSettings
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder, generate, vocabulary_texts
from saccade.tasks.procedural import Family
from saccade.tasks.scene import SIZE_PX
from saccade.tasks.two_streams import Care, grounded, textual
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import Answer, Example, ExpertTurn, StreamExample, Task

FAMILIES = ("plate_mark", "plate_pair")
"""Questions that both streams ask."""

GENERAL_FAMILY = "big_shape"
"""Questions without boxes, for the textual stream alone."""

COORDINATE_STEP = 50
"""Experts write coordinates in multiples of this, of 1000."""

GRID_PX = SIZE_PX * COORDINATE_STEP / 1000

NUMBERS = tuple(range(0, 1001, COORDINATE_STEP))

PHRASES = ("<box>[", "]</box>")
"""A token each for a tiny model."""

SCAFFOLD_TEXTS = ("system\n", "user\n", "assistant\n", "boxes", "words")

Shown = Literal["grounded", "textual"]

ACROSS, DOWN = ("leftmost", "rightmost", "central", "stacked"), ("topmost", "lowest", "halfway", "level")
"""How a thing lies to all others: first, last, between, or with none before or behind it."""


@dataclass(frozen=True, kw_only=True)
class StreamLessons:
    """Mixture of demonstrations, as shares."""

    general_share: float = 0.05
    """Questions without boxes, in plain words."""
    grounded_share: float = 0.8
    """Share of the others that reason with boxes."""
    views_share: float = 0.5
    """Share of those in plain words with crops of what matters beside the picture."""
    careless_from: float = 0.85
    """Share of the imitation steps after which experts are careless, so that rewards have habits to break."""
    loose_share: float = 0.25
    """Share of careless demonstrations with a box twice too large, or no word on where a thing is."""
    elsewhere_share: float = 0.5
    """Share of careless demonstrations that take some other thing for the one that is asked for."""
    astray_share: float = 0.0
    """Share of careless demonstrations whose answer is right, with box and place beside the thing."""
    partial_share: float = 0.0
    """Share of careless demonstrations that leave out half of what there is to say of where a thing is."""

    def check(self) -> None:
        check_shares(
            self,
            *("general_share", "grounded_share", "views_share", "careless_from"),
            together=("loose_share", "elsewhere_share", "astray_share", "partial_share"),
        )

    def care(self, draw: float, progress: float) -> Care:
        """How an expert looks, from a number in 0..1 drawn at random and how much of the imitation is over."""
        if progress < self.careless_from:
            return "careful"
        shares: dict[Care, float] = {
            "loose": self.loose_share,
            "elsewhere": self.elsewhere_share,
            "astray": self.astray_share,
            "partial": self.partial_share,
        }
        return habit_of(draw, shares, "careful")


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamQuestions:
    """Drawn questions, each a function of its split and its number."""

    seed: int
    media: MediaStore
    difficulty: float
    families: Sequence[Family] = FAMILIES
    facts: int = 2

    def boxed(self, split: str, index: int, family: Family | None = None) -> Example:
        """A question on marked plates; the families take turns where none is named."""
        name = family or self.families[index % len(self.families)]
        number = index if family else index // len(self.families)
        example = generate(
            name, split=split, index=number, seed=self.seed, media=self.media, difficulty=self.difficulty
        )
        return example if self.facts == 2 else with_four_facts(example)

    def general(self, split: str, index: int) -> Example:
        """A question without boxes, answered in a word."""
        example = generate(GENERAL_FAMILY, split=split, index=index, seed=self.seed, media=self.media, difficulty=0.0)
        turn = ExpertTurn(thought=example.task.answer, action=Answer(text=example.task.answer))
        return Example(task=replace(example.task, targets=()), turns=(turn,))


def with_four_facts(example: Example) -> Example:
    """The example whose objects also say how each lies to all others, across and down: four facts in all."""
    objects = example.task.objects
    centres = [one.box.center for one in objects]
    lies = [
        {
            "across": _rank(one.x, [other.x for other in centres], ACROSS),
            "down": _rank(one.y, [y.y for y in centres], DOWN),
        }
        for one in centres
    ]
    named = tuple(replace(one, attributes={**one.attributes, **lie}) for one, lie in zip(objects, lies))
    return replace(example, task=replace(example.task, objects=named))


def _rank(own: float, every: Sequence[float], words: Sequence[str]) -> str:
    """The word for being first, last, between, or beside all; less than half a cell apart is beside."""
    apart = CELL_PX / 2
    before, behind = any(one < own - apart for one in every), any(one > own + apart for one in every)
    return words[2 if before and behind else 1 if before else 0 if behind else 3]


def lesson_texts(families: Sequence[Family] = FAMILIES, facts: int = 2) -> list[str]:
    """Texts to train a tokenizer on, together with ``NUMBERS`` and ``PHRASES``."""
    said = () if facts == 2 else (*ACROSS, *DOWN)
    return [*vocabulary_texts(families=(*families, GENERAL_FAMILY)), *(*SCAFFOLD_TEXTS, *said) * 60]


def lessons_on(
    asked: StreamQuestions, lessons: StreamLessons, *, questions: int, seed: int
) -> Callable[[int, float], StreamExample]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows.

    ``questions`` pictures come again and again, in either stream. Those with crops of what matters are careful.
    """

    def drawn(number: int) -> Example:
        chance = generator_for(seed, "general", number)
        is_general = chance.random() < lessons.general_share
        return asked.general("train", number) if is_general else asked.boxed("train", number)

    example_of = drawn_once(drawn, asked.media)

    def lesson(index: int, progress: float) -> StreamExample:
        example = example_of(index % questions)
        chance = generator_for(seed, "lesson", index)
        if not example.task.targets:
            return StreamExample(example=example, stream="textual")
        care = lessons.care(chance.random(), progress)
        if chance.random() < lessons.grounded_share:
            return StreamExample(
                example=grounded(example, grid_px=GRID_PX, care=care, chance=chance), stream="grounded"
            )
        if chance.random() < lessons.views_share:
            shown = textual(example)
            return StreamExample(
                example=replace(shown, task=_with_views(shown.task, asked.media, chance)), stream="textual"
            )
        return StreamExample(example=textual(example, care=care, chance=chance), stream="textual")

    return lesson


def _with_views(task: Task, media: MediaStore, chance: Generator) -> Task:
    """The task with crops of its targets, their union, or both beside the picture."""
    crops = [target.box for target in task.targets]
    union = [enclosing_box(crops)] if len(crops) > 1 else []
    views = (crops, union or crops, [*crops, *union])[int(chance.integers(3))]
    picture = media.get(task.images[0])
    shown = [media.add(picture.crop(box.as_tuple())) for box in views]
    return replace(task, images=(*task.images, *shown))


EXACT = ExactJudge(values={PLACE: PLACES, "mark": tuple(MARKS)})
"""The judge of drawn plates."""
EXACT_OF_FOUR = ExactJudge(values={**EXACT.values, "across": ACROSS, "down": DOWN})
"""The same where four facts are said of each."""


@dataclass(frozen=True, kw_only=True)
class TinyIvgrSettings(TwoStreamSettings):
    """Settings of the miniature: minutes on one core."""

    judge: TinyJudgeSettings = TinyJudgeSettings()
    boxed_per_step: int = 9
    sft: ImitationSettings = IMITATION
    rl: RLSettings = replace(REINFORCEMENT, tasks_per_step=11, evaluate_every=20)
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=64, max_tokens=640)
    size: TinySize = field(default_factory=TinySize)
    lessons: StreamLessons = StreamLessons()
    sft_questions: int = 16_000
    """Different questions of the imitation; they come again in other streams."""
    rl_questions: int = 180
    """Different questions with boxes of the reinforcement: 20 steps ask each of them once in both streams."""
    difficulty: float = 0.5
    facts: int = 2
    """Facts that are said of a plate: place and mark, and with 4 how it lies to the others, across and down."""
    things: int = 2
    """Most plates that a question asks for: one or two of a few, or with 5 always five of six."""
    digits: bool = False
    """Whether coordinates are written in digits, a token each; else each number is one."""
    evaluation_tasks: int = 300
    """Held-out questions of each evaluation, half of them of each family."""
    curve_tasks: int = 60

    def check(self) -> None:
        super().check()
        for name, few, many in (("facts", 2, 4), ("things", 2, 5)):
            if (value := getattr(self, name)) not in (few, many):
                raise UserError(f"{name}={value} must be {few} or {many}")

    @property
    def families(self) -> Sequence[Family]:
        """Of the questions with boxes."""
        return FAMILIES if self.things == 2 else (draw_plate_five,)

    @property
    def looks(self) -> Mapping[str, Views]:
        """All of the paper's Table 4."""
        shown = {"crops": (True, False), "union": (False, True), "crops_union": (True, True)} if self.test_time else {}
        return {name: Views(crops=crops, union=union, cut=self.views) for name, (crops, union) in shown.items()}


def tiny(context: RecipeContext) -> Plan:
    """The recipe in miniature, on drawn questions; ``--model`` of an earlier imitation skips imitation."""
    settings = apply_overrides(TinyIvgrSettings(), context.overrides)
    asked = StreamQuestions(
        seed=seed_for(context.seed, "ivgr"),
        media=context.media,
        difficulty=settings.difficulty,
        families=settings.families,
        facts=settings.facts,
    )
    judge = EXACT if settings.facts == 2 else EXACT_OF_FOUR
    exact = replace(judge, knows_truth=settings.judge.knows_truth)
    judged = settings.judge.with_errors(settings.judges(context, exact), seed=seed_for(context.seed, "judge"))
    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)
    has_lessons = imitates(context, settings.sft.steps)

    def boxed(number: int) -> Task:
        place = in_epochs(number, settings.rl_questions, context.seed)
        # After the pictures of the imitation, so that none comes twice.
        return asked.boxed("train", settings.sft_questions + place).task

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
        examples=lesson if has_lessons else None,
        first="curve" if has_lessons else None,
        resources=judged.resources,
        meters=judged.meters,
    )
    return material.plan(settings, method(settings, material, judged))


def _model(settings: TinyIvgrSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_or_given(
        context.model,
        lesson_texts(settings.families, settings.facts),
        context.media,
        size=settings.size,
        numbers=() if settings.digits else NUMBERS,
        phrases=PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
