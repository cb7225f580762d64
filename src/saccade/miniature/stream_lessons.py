"""What a beginner is shown before the two streams: questions on marked plates, reasoned with boxes or in plain words.

As in the paper's cold start most demonstrations are grounded. Some of those in plain words also see crops of what
matters, as the second pass of test-time scaling shows them: a model made from nothing has never seen two pictures.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from numpy.random import Generator

from saccade.errors import UserError
from saccade.geometry import enclosing_box
from saccade.media import MediaStore, png_bytes
from saccade.seeding import generator_for
from saccade.tasks import generate, vocabulary_texts
from saccade.tasks.scene import SIZE_PX
from saccade.tasks.two_streams import Care, grounded, textual
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


@dataclass(frozen=True, kw_only=True)
class StreamLessons:
    """Shares of demonstrations."""

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

    def check(self) -> None:
        careless = ("loose_share", "elsewhere_share", "astray_share")
        for name in ("general_share", "grounded_share", "views_share", "careless_from", *careless):
            if not 0 <= (share := getattr(self, name)) <= 1:
                raise UserError(f"{name}={share} is a share and must lie between 0 and 1")
        if sum(getattr(self, name) for name in careless) > 1:
            raise UserError(
                f"loose_share={self.loose_share}, elsewhere_share={self.elsewhere_share} and "
                f"astray_share={self.astray_share} are shares of the same demonstrations and must not be more than 1 "
                "together"
            )

    def care(self, draw: float, progress: float) -> Care:
        """How an expert looks, from a number in 0..1 drawn at random and how much of the imitation is over."""
        if progress < self.careless_from:
            return "careful"
        shares: dict[Care, float] = {
            "loose": self.loose_share,
            "elsewhere": self.elsewhere_share,
            "astray": self.astray_share,
        }
        for care, share in shares.items():
            if draw < share:
                return care
            draw -= share
        return "careful"


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamQuestions:
    """Drawn questions, each a function of its split and its number."""

    seed: int
    media: MediaStore
    difficulty: float

    def boxed(self, split: str, index: int, family: str | None = None) -> Example:
        """A question on marked plates; the families take turns where none is named."""
        name = family or FAMILIES[index % len(FAMILIES)]
        number = index if family else index // len(FAMILIES)
        return generate(name, split=split, index=number, seed=self.seed, media=self.media, difficulty=self.difficulty)

    def general(self, split: str, index: int) -> Example:
        """A question without boxes, answered in a word."""
        example = generate(GENERAL_FAMILY, split=split, index=index, seed=self.seed, media=self.media, difficulty=0.0)
        turn = ExpertTurn(thought=example.task.answer, action=Answer(text=example.task.answer))
        return Example(task=replace(example.task, targets=()), turns=(turn,))


def lesson_texts() -> list[str]:
    """What to train a tokenizer on, together with ``NUMBERS`` and ``PHRASES``."""
    return [*vocabulary_texts(families=(*FAMILIES, GENERAL_FAMILY)), *SCAFFOLD_TEXTS * 60]


def lessons_on(
    asked: StreamQuestions, lessons: StreamLessons, *, questions: int, seed: int
) -> Callable[[int, float], StreamExample]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows.

    ``questions`` pictures come again and again, in either stream. Those with crops of what matters are careful.
    """

    @cache
    def drawn(number: int) -> tuple[Example, bytes]:
        chance = generator_for(seed, "general", number)
        is_general = chance.random() < lessons.general_share
        example = asked.general("train", number) if is_general else asked.boxed("train", number)
        return example, png_bytes(asked.media.get(example.task.images[0]))

    def lesson(index: int, progress: float) -> StreamExample:
        example, picture = drawn(index % questions)
        # A step's pictures are forgotten after it, but drawing one again costs more than reading it again.
        asked.media.add_encoded(picture, example.task.id)
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
