"""CodeDance in miniature: drawn questions, demonstrations in code, and a model made from nothing.

The questions are easy or hard; demonstrations come from skilled experts first, then from careless ones too, which slip
and guess, so that rewards have habits to break.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from numpy.random import Generator

from saccade.config import RecipeContext, apply_overrides
from saccade.gym.code_experts import (
    CodeStyle,
    code_phrases,
    coded,
    gave_up,
    one_run,
    slip_then_all,
    slip_then_report,
    two_runs,
    with_picture,
)
from saccade.media import MediaStore
from saccade.miniature.habits import guessed
from saccade.miniature.schedules import IMITATION, REINFORCEMENT, check_shares, drawn_once, imitates, in_small_batches
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.recipes.codedance import method
from saccade.recipes.codedance_settings import CodeDanceSettings
from saccade.rollout import RolloutSettings
from saccade.sandbox.libraries import require
from saccade.sandbox.sandbox import sandbox_for
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder, generate, vocabulary_texts
from saccade.tools.remembered import RememberedSessions
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import Example, StreamExample, Task

EASY = ("big_shape",)
"""Families that a glance is enough for."""

HARD = ("colour_dots", "scale_bar", "colour_bars", "dot_table")
"""Families where code pays."""

PHRASES = ("<code>\n```python\n", "\n```\n</code>", *code_phrases())
"""Text around code, and the code's own fixed pieces: a token each for a tiny model."""

_SCAFFOLD_TEXTS = (
    "system\n",
    "user\n",
    "assistant\n",
    "tool\n",
    "tools: execute_python_code",
    "error NameError",
    "error AttributeError",
    "error IndexError",
    "compute",
    "correct",
)
"""Text of the chat template, the brief instructions, failed runs and second thoughts, to take few tokens."""

_SKILLED: tuple[CodeStyle, ...] = (one_run, one_run, two_runs, with_picture)
_SLIPPING: tuple[CodeStyle, ...] = (slip_then_all, slip_then_report)


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """Mixture of demonstrations, as shares; all but the first two hold from ``careless_from`` on."""

    easy_share: float = 0.25
    """Easy questions among all."""
    direct_share: float = 0.4
    """Easy questions that are answered at once; code answers the others."""
    careless_from: float = 0.7
    """Share of the imitation steps after which experts are careless."""
    slip_share: float = 0.3
    """Solutions by code whose first try raises."""
    guess_share: float = 0.5
    """Hard questions answered at once, by a guess."""
    give_up_share: float = 0.1
    """Hard questions where a slip is followed by a guess."""

    def check(self) -> None:
        check_shares(
            self,
            *("easy_share", "direct_share", "careless_from", "slip_share"),
            together=("guess_share", "give_up_share"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeQuestions:
    """Drawn questions, each a function of its split and its number."""

    seed: int
    media: MediaStore
    difficulty: float
    """Difficulty of the hard questions; the easy ones are always as easy as can be."""

    def example(self, split: str, index: int, easy_share: float) -> Example:
        """A question of the mixture, with its family's own expert."""
        chance = generator_for(self.seed, "easy or hard", split, index)
        families = EASY if chance.random() < easy_share else HARD
        return self.of(families[int(chance.integers(len(families)))], split, index)

    def of(self, family: str, split: str, index: int) -> Example:
        """A question of one family."""
        difficulty = 0.0 if family in EASY else self.difficulty
        return generate(family, split=split, index=index, seed=self.seed, media=self.media, difficulty=difficulty)


def lesson_texts() -> list[str]:
    """Texts to train a tokenizer on, together with ``PHRASES``."""
    return [*vocabulary_texts(families=(*EASY, *HARD)), *_SCAFFOLD_TEXTS * 60]


def lessons_on(asked: CodeQuestions, lessons: Lessons, *, questions: int, seed: int) -> Callable[[int, float], Example]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows.

    The first ``questions`` training questions come again and again, each solved in one style by skilled experts and
    in one way by careless ones.
    """

    shown = drawn_once(lambda number: asked.example("train", number, lessons.easy_share), asked.media)

    def lesson(index: int, progress: float) -> Example:
        number = index % questions
        return _demonstration(
            shown(number),
            lambda: shown(number + 1),
            lessons,
            generator_for(seed, "demonstration", number),
            is_careless=progress >= lessons.careless_from,
        )

    return lesson


def _demonstration(
    shown: Example, other: Callable[[], Example], lessons: Lessons, chance: Generator, *, is_careless: bool
) -> Example:
    """The demonstration of this question; a guess is the answer of an ``other`` question."""
    style = _SKILLED[int(chance.integers(len(_SKILLED)))]
    if is_careless and chance.random() < lessons.slip_share:
        style = _SLIPPING[int(chance.integers(len(_SLIPPING)))]
    draw = chance.random()
    if shown.task.family in EASY:
        return replace(shown, turns=shown.turns[-1:]) if draw < lessons.direct_share else coded(shown, style)
    if is_careless and draw < lessons.guess_share:
        return guessed(shown, other=other())
    if is_careless and draw < lessons.guess_share + lessons.give_up_share:
        return gave_up(shown, other=other())
    return coded(shown, style)


@dataclass(frozen=True, kw_only=True)
class TinyCodeDanceSettings(CodeDanceSettings):
    """Settings of the miniature: minutes on one core."""

    sft: ImitationSettings = replace(
        IMITATION, steps=600, batch_size=16, optimizer=in_small_batches(1.5e-3), checkpoint_every=300
    )
    rl: RLSettings = replace(REINFORCEMENT, steps=40, evaluate_every=10)
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

    def unused(self) -> Mapping[str, str]:
        drawn = dict.fromkeys(("sft_data", "held_out_share"), "questions and demonstrations are drawn")
        own = {name: why for name, why in super().unused().items() if name != "sft"}
        return {**own, **drawn, "model": "the miniature makes its model, or takes --model as it is"}


def tiny(context: RecipeContext) -> Plan:
    """The recipe in miniature, on drawn questions; ``--model`` of an earlier imitation skips imitation."""
    settings = apply_overrides(TinyCodeDanceSettings(), context.overrides)
    require("cv2", needed_for="the programs of codedance:tiny's lessons")
    sandbox = sandbox_for(settings.isolation, settings.sandbox_server)
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
        examples=shown if imitates(context, settings.sft.steps) else None,
        first=None,
        resources=(sandbox,),
    )
    # Imitation shows its questions several times, and samples of one question often write the same code.
    plan = material.plan(settings, method(settings, material, RememberedSessions(sandbox, max_runs=2048)))
    return plan.with_judged_evidence(settings.evidence_judge, context.media, seed_for(context.seed, "evidence judge"))
