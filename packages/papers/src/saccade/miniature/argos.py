"""Argos in miniature: drawn plates with exact regions, experts with habits, and a model made from nothing.

Towards the end of the imitation experts are careless: they point at nothing, point elsewhere though they are right, or
contradict themselves. Questions of reinforcement are of two kinds; more plates, relations and things that are not
there are imitated a little and only measured.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.chat.answer_scoring import CheckpointTeacher
from saccade.config import RecipeContext, apply_overrides
from saccade.errors import MachineError
from saccade.gym.drawn.plates import MARKS
from saccade.gym.pointing import PointingHabit, pointed
from saccade.media import MediaStore
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
from saccade.protocols.points import without_points
from saccade.recipes.argos import method
from saccade.recipes.argos_settings import PointingSettings
from saccade.rewards.argos import AnswerRequest, ArgosReward, ExactRegions, NoisyRegions, Verifier, VerifierForms
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder, generate, vocabulary_texts
from saccade.tasks.scene import SIZE_PX
from saccade.train import ImitationSettings, Material, Plan, RLSettings
from saccade.types import Example, StreamExample, Task, Trajectory

FAMILIES = ("plate_mark", "plate_pair")
"""Questions of reinforcement, which take turns."""

OTHERS = ("plate_relation", "plate_absent", "plate_count")
"""Questions that are imitated and measured, never reinforced."""

COORDINATE_STEP = 50
GRID_PX = SIZE_PX * COORDINATE_STEP / 1000
NUMBERS = tuple(range(0, 1001, COORDINATE_STEP))
"""Coordinates that experts write, of 1000."""

PHRASES = ('<point x="', '" y="', '">', "</point>")
"""A token each for a tiny model."""

SCAFFOLD_TEXTS = ("system\n", "user\n", "assistant\n", "points")

ANSWERS = {
    "plate_mark": tuple(MARKS),
    "plate_pair": tuple(f"{one} and {other}" for one in MARKS for other in MARKS),
    "plate_relation": ("yes", "no"),
    "plate_absent": ("yes", "no"),
    "plate_count": tuple("23456"),
}


@dataclass(frozen=True, kw_only=True)
class PointingLessons:
    """Mixture of demonstrations, as shares."""

    others_share: float = 0.3
    """Questions that are not reinforced."""
    careless_from: float = 0.85
    """Share of the imitation steps after which experts are careless, so that rewards have habits to break."""
    bare_share: float = 0.4
    """Share of careless demonstrations without points."""
    elsewhere_share: float = 0.3
    """Share of careless demonstrations that point at other things than they name."""
    contradiction_share: float = 0.1
    """Share of careless demonstrations whose answer is not that of their reasoning."""
    misstatement_share: float = 0.0
    """Share of careless demonstrations whose answer is right after a reasoning for another, which no reward of the
    answer alone finds."""

    def check(self) -> None:
        check_shares(
            self,
            *("others_share", "careless_from"),
            together=("bare_share", "elsewhere_share", "contradiction_share", "misstatement_share"),
        )

    def habit(self, draw: float, progress: float) -> PointingHabit:
        """How an expert reasons, from a number in 0..1 drawn at random and how much of the imitation is over."""
        if progress < self.careless_from:
            return "careful"
        shares: dict[PointingHabit, float] = {
            "bare": self.bare_share,
            "elsewhere": self.elsewhere_share,
            "contradiction": self.contradiction_share,
            "misstatement": self.misstatement_share,
        }
        return habit_of(draw, shares, "careful")


@dataclass(frozen=True)
class RuleTeacher:
    """A teacher of drawn marks by rules: how probable an answer is after a reasoning that names marks.

    0.95 for the marks that the reasoning says last, in their order; 0.05 for others; a guess where it says none.
    """

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        return [(math.log(_probability(one)),) for one in requests]


def thinks_so(trajectory: Trajectory) -> bool:
    """Whether the reasoning leads to the answer that is given, by the rules of ``RuleTeacher``; False without one."""
    reasoning = without_points(" ".join(turn.thought for turn in trajectory.turns)).split()
    wanted = [word for word in (trajectory.answer or "").split() if word in MARKS]
    said = [word for word in reasoning if word in MARKS]
    return bool(wanted) and said[-len(wanted) :] == wanted


def _probability(request: AnswerRequest) -> float:
    wanted = [word for word in request.answer.split() if word in MARKS]
    said = [word for word in request.reasoning.split() if word in MARKS]
    if not said or not wanted:
        return 1 / len(MARKS)
    return 0.95 if said[-len(wanted) :] == wanted else 0.05


@dataclass(frozen=True, kw_only=True)
class TinyArgosSettings(PointingSettings):
    """The same in miniature: minutes on one core."""

    sft: ImitationSettings = IMITATION
    reward: ArgosReward = ArgosReward(measured_share=1.0)
    """Exact regions cost nothing, so all are measured."""
    forms: VerifierForms = VerifierForms()
    wrong_regions: float = 0.0
    """Share of wrong regions in the reward; evaluations always measure by right ones."""
    teacher: Path | None = None
    """Checkpoint directory that reasoning is judged by; without it ``RuleTeacher`` does."""
    rl: RLSettings = replace(REINFORCEMENT, evaluate_every=10)
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=80, max_tokens=640)
    size: TinySize = field(default_factory=TinySize)
    lessons: PointingLessons = PointingLessons()
    sft_questions: int = 16_000
    """Different questions of the imitation."""
    rl_questions: int = 320
    """Different questions of the reinforcement; they come again."""
    difficulty: float = 0.5
    more_plates: float = 0.75
    """Difficulty of the questions "more": more plates and smaller marks than were trained on."""
    evaluation_tasks: int = 200
    """Held-out questions of each kind: trained on, more, relations, absent, counts."""
    curve_tasks: int = 100


@dataclass(frozen=True, kw_only=True)
class PointedQuestions:
    """Drawn questions, each a function of its split and its number."""

    settings: TinyArgosSettings
    seed: int
    media: MediaStore

    def drawn(self, split: str, index: int, family: str, difficulty: float | None = None) -> Example:
        knob = self.settings.difficulty if difficulty is None else difficulty
        return generate(family, split=split, index=index, seed=self.seed, media=self.media, difficulty=knob)

    def trained(self, split: str, index: int, difficulty: float | None = None) -> Example:
        """A question of reinforcement; the families take turns."""
        return self.drawn(split, index // len(FAMILIES), FAMILIES[index % len(FAMILIES)], difficulty)

    def shown(self, number: int) -> Example:
        """A question of the imitation."""
        if generator_for(self.seed, "kind", number).random() < self.settings.lessons.others_share:
            return self.drawn("train", number, OTHERS[number % len(OTHERS)])
        return self.trained("train", number)

    def held_out(self, kind: str, count: int) -> Callable[[], Sequence[Task]]:
        def tasks() -> Sequence[Task]:
            if kind in OTHERS:
                return [self.drawn("held_out", index, kind).task for index in range(count)]
            difficulty = self.settings.more_plates if kind == "more" else None
            return [self.trained("held_out", index, difficulty).task for index in range(count)]

        return tasks


def lessons_on(asked: PointedQuestions, seed: int) -> Callable[[int, float], StreamExample]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows."""
    settings = asked.settings

    example_of = drawn_once(asked.shown, asked.media)

    def lesson(index: int, progress: float) -> StreamExample:
        example = example_of(index % settings.sft_questions)
        chance = generator_for(seed, "lesson", index)
        habit = settings.lessons.habit(chance.random(), progress)
        answers = ANSWERS[example.task.family]
        shown = pointed(example, grid_px=GRID_PX, habit=habit, chance=chance, answers=answers)
        return StreamExample(example=shown)

    return lesson


def tiny(context: RecipeContext) -> Plan:
    """The recipe in miniature, on drawn questions; ``--model`` of an earlier imitation skips imitation."""
    settings = apply_overrides(TinyArgosSettings(), context.overrides)
    asked = PointedQuestions(settings=settings, seed=seed_for(context.seed, "argos"), media=context.media)
    exact = Verifier(regions=ExactRegions(), teacher=RuleTeacher(), forms=settings.forms)
    noisy = NoisyRegions(inner=ExactRegions(), share=settings.wrong_regions, seed=seed_for(context.seed, "regions"))
    protocol = settings.episodes("brief").protocol
    model = settings.teacher and CheckpointTeacher(path=settings.teacher, media=context.media, protocol=protocol)
    paying = Verifier(regions=noisy, teacher=model or RuleTeacher(), forms=settings.forms)
    has_lessons = imitates(context, settings.sft.steps)

    def question(number: int) -> Task:
        place = in_epochs(number, settings.rl_questions, context.seed)
        # After the pictures of the imitation, so that none comes twice.
        return asked.trained("train", settings.sft_questions + place).task

    kinds = {"": "trained", "more": "more", **{name.removeprefix("plate_"): name for name in OTHERS}}
    material = Material(
        title="A tiny model points at what it speaks of",
        build_model=lambda: tiny_or_given(
            context.model,
            [*vocabulary_texts(families=(*FAMILIES, *OTHERS)), *SCAFFOLD_TEXTS * 60],
            context.media,
            size=settings.size,
            numbers=NUMBERS,
            phrases=PHRASES,
            seed=seed_for(context.seed, "weights"),
        ),
        style="brief",
        questions=lambda: InOrder(question),
        held_out={
            **{name: asked.held_out(kind, settings.evaluation_tasks) for name, kind in kinds.items()},
            "curve": asked.held_out("trained", settings.curve_tasks),
        },
        examples=lessons_on(asked, context.seed) if has_lessons else None,
        first=None,
        resources=() if model is None else (model,),
        meters=paying.meters,
    )
    return material.plan(settings, method(settings, material, paying, measured_by=exact))
