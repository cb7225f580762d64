"""A drawn scene: pictures, the question on them and all that is known of the answer, before it is a task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box, Mask, Point
from saccade.types import Answer, AnswerKind, ExpertTurn, Json, SceneObject, Target, ToolCall

SIZE_PX = 256
"""Width and height of every drawn picture."""

CROP_GRID_PX = 32
"""Experts crop boxes on this grid, so that a model needs few coordinate words: multiples of 125 in 0-1000."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneQuestion:
    """A question on a scene, what matters for its answer, and how an expert finds it. Fields are as in ``Task``."""

    question: str
    answer: str
    targets: tuple[Target, ...]
    looks: tuple[ExpertTurn, ...]
    """The expert's tool calls, in pixels; after them it answers."""
    answer_kind: AnswerKind = "exact"
    choices: tuple[str, ...] = ()
    tolerance: float = 0.0
    conclusion: str = "clear now"
    """The expert's thought when it answers."""
    accepted: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[ExpertTurn, ...]:
        """The calls, then the answer."""
        return (*self.looks, ExpertTurn(thought=self.conclusion, action=Answer(text=self.answer)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A family's pictures, and the question on them."""

    images: tuple[Image.Image, ...]
    asked: SceneQuestion
    frame_times_s: tuple[float, ...] = ()
    event_s: tuple[float, float] | None = None
    split_key: bytes = b""
    """The bytes that no two splits may share. Empty: all pixels. A video gives what each of its frames shows."""
    objects: tuple[SceneObject, ...] = ()
    """As in ``Task``."""


_ROWS = ("top", "upper", "lower", "bottom")
_COLUMNS = ("leftmost", "left", "right", "rightmost")
PLACE_NAMES = tuple(f"{row} {column}" for row in _ROWS for column in _COLUMNS)
"""All that ``place_of`` may say."""

FamilyFunction = Callable[[Generator, float], Scene]
"""Draws a scene from a generator and a difficulty in [0, 1]."""


@runtime_checkable
class DrawsInSplit(Protocol):
    """A family that tells the split of a scene before it draws the picture, because drawing is slow."""

    def within(self, accepts: Callable[[bytes], bool]) -> FamilyFunction:
        """The family, drawing scenes with a ``split_key`` that is accepted; where it has one."""
        ...


@runtime_checkable
class HasParts(Protocol):
    """A family of which a program, a look or a level can be asked for by name."""

    def part(self, name: str) -> FamilyFunction:
        """The part of this name, which begins with the family's; ``UserError`` says what there is."""
        ...


def knob(difficulty: float, easy: float, normal: float, hard: float) -> float:
    """The value of a setting at this difficulty: linear from 0 to 0.5 and from 0.5 to 1."""
    if difficulty <= 0.5:
        return easy + (normal - easy) * 2 * difficulty
    return normal + (hard - normal) * (2 * difficulty - 1)


def whole_knob(difficulty: float, easy: int, normal: int, hard: int) -> int:
    """``knob`` rounded to a whole number."""
    return round(knob(difficulty, easy, normal, hard))


def pick(rng: Generator, options: tuple[str, ...]) -> str:
    """One of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def pick_several(rng: Generator, options: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Different options in random order."""
    return tuple(options[int(i)] for i in rng.permutation(len(options))[:count])


def rectangle_target(label: str, box: Box, image_index: int = 0) -> Target:
    """A target that fills its box, which has whole coordinates."""
    return Target(
        label=label, box=box, point=box.center, mask=Mask.from_box(box, SIZE_PX, SIZE_PX), image_index=image_index
    )


def target_of(label: str, mask: NDArray[np.bool_], image_index: int = 0) -> Target:
    """A target from its pixels, boolean (height, width): its bounds, and the pixel nearest to its mean."""
    rows, columns = np.nonzero(mask)
    nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
    box = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    return Target(
        label=label,
        box=box,
        point=Point(int(columns[nearest]) + 0.5, int(rows[nearest]) + 0.5),
        mask=Mask.from_array(mask),
        image_index=image_index,
    )


def look_box(box: Box, minimum_px: int = 64, margin_px: int = 2) -> Box:
    """A square on the crop grid, inside the picture, that holds the box and a margin around it."""
    side = minimum_px
    while side < SIZE_PX:
        x1 = _grid_start(box.x1 - margin_px, box.x2 + margin_px, side)
        y1 = _grid_start(box.y1 - margin_px, box.y2 + margin_px, side)
        if x1 is not None and y1 is not None:
            return Box(x1, y1, x1 + side, y1 + side)
        side += CROP_GRID_PX
    return Box(0, 0, SIZE_PX, SIZE_PX)


def _grid_start(low: float, high: float, side: int) -> int | None:
    """Where on the grid a span of this length best holds [low, high]; None when none does."""
    low, high = max(low, 0), min(high, SIZE_PX)
    starts = range(0, SIZE_PX - side + 1, CROP_GRID_PX)
    fitting = [start for start in starts if start <= low and high <= start + side]
    return min(fitting, key=lambda start: abs(2 * start + side - low - high), default=None)


def call(thought: str, tool: str, image: int = 1, **arguments: Json) -> ExpertTurn:
    """A turn that calls a tool; the number of the image is said only when it is not the first."""
    where: dict[str, Json] = {} if image == 1 else {"image": image}
    return ExpertTurn(thought=thought, action=ToolCall(name=tool, arguments={**where, **arguments}))


def crop_turn(box: Box, thing: str, image: int = 1) -> ExpertTurn:
    """A turn that names a thing, says in words where it is, and crops the box, which has whole coordinates.

    The name comes right before the place on purpose: a small model learns to look for a thing when the word that it
    has just written is what to look for. With the question's word alone, many tokens back, it finds some thing.
    """
    return call(f"{thing} {place_of(box.center)}", "crop", image, bbox_2d=[int(side) for side in box.as_tuple()])


def place_of(point: Point) -> str:
    """Where a point of a picture is, in two words: its row and its column of a 4 x 4 grid."""
    row, column = (min(3, int(at * 4 / SIZE_PX)) for at in (point.y, point.x))
    return f"{_ROWS[row]} {_COLUMNS[column]}"
