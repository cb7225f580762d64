"""Coloured plates: the texture on one of them, or the marks that they bear, too small to see from afar.

Plates lie in a 4 x 4 grid of cells, one to a cell, each of a colour of its own.

``visual_search``: every texture has a period of 4 px and the mean of the plain plate, and covers whole blocks of the
picture's 4-px grid: averaging 4 x 4 blocks, which is what a model with a 64-px view sees, gives the same bytes for all
four textures. The answer can only be found by looking closer. Difficulty: plates 1 at 0, 1-3 at 0.5, 1-6 at 1; jitter
inside the cell 0, 3 and 6 px; colours 4 up to 0.5, then up to 8 at 1 (orange and pink lie near red, cyan near blue).

``plate_mark, plate_pair``: a small square in the middle of each plate. A plate is easy to find from afar; of its mark a
view of 64 px shows little and a crop all. Everything in the picture is named with its place and its mark
(``Task.objects``), so that an exact judge can tell what a text says of it. Difficulty: plates 2 at 0, 2-3 at 0.5, 4-6
at 1; the mark's side 24, 20 and 8 px; jitter inside the cell 0, 1 and 7 px; colours 4 up to 0.5, then up to 6 at 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box
from saccade.tasks.drawing import BACKGROUND, COLOUR_NAMES, COLOURS, INK, PAPER, Colour
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, crop_turn, place_of, rectangle_target, whole_knob
from saccade.tasks.two_streams import in_words
from saccade.types import AnswerKind, SceneObject

TEXTURES = ("rows", "columns", "checks", "plain")
"""The closed set of answers."""

CELL_PX = 64
PLATE_PX = 48
TEXTURE_PX = 40
PERIOD_PX = 4
CONTRAST = 44
MARKS: dict[str, Colour] = {"white": PAPER, "black": INK, "cyan": COLOURS["cyan"], "pink": COLOURS["pink"]}
"""No plate has one of these colours."""

PLATE_COLOURS = tuple(name for name in COLOUR_NAMES if name not in MARKS)


def draw_visual_search(rng: Generator, difficulty: float) -> Scene:
    """Plates of different colours; the question names a colour, in one wording only, as the demo is short."""
    count = int(rng.integers(1, whole_knob(difficulty, 1, 3, 6) + 1))
    jitter = whole_knob(difficulty, 0, 3, 6)
    cells = rng.permutation((SIZE_PX // CELL_PX) ** 2)[:count]
    colours = rng.permutation(whole_knob(difficulty, 4, 4, 8))[:count]
    textures = rng.integers(len(TEXTURES), size=count)
    shifts = rng.integers(-jitter, jitter + 1, size=(count, 2))
    pixels = np.full((SIZE_PX, SIZE_PX, 3), BACKGROUND[0], dtype=np.uint8)
    corners = [plate_corner(int(cell), int(dx), int(dy)) for cell, (dx, dy) in zip(cells, shifts)]
    for (left, top), colour, texture in zip(corners, colours, textures):
        draw_plate(pixels, left, top, COLOUR_NAMES[colour], TEXTURES[texture])
    # The first plate is as random as any other.
    (left, top), colour, answer = corners[0], COLOUR_NAMES[colours[0]], TEXTURES[textures[0]]
    row, column = divmod(int(cells[0]), SIZE_PX // CELL_PX)
    cell = Box(column * CELL_PX, row * CELL_PX, (column + 1) * CELL_PX, (row + 1) * CELL_PX)
    asked = SceneQuestion(
        question=f"Which texture is on the {colour} plate: rows, columns, checks or plain?",
        answer=answer,
        targets=(rectangle_target(f"{colour} plate", Box(left, top, left + PLATE_PX, top + PLATE_PX)),),
        looks=(crop_turn(cell, colour),),
    )
    return Scene(images=(Image.fromarray(pixels),), asked=asked)


def plate_corner(cell: int, shift_x: int, shift_y: int) -> tuple[int, int]:
    """Left and top of a plate that is shifted from the middle of a cell; cells count along rows."""
    row, column = divmod(cell, SIZE_PX // CELL_PX)
    border = (CELL_PX - PLATE_PX) // 2
    return column * CELL_PX + border + shift_x, row * CELL_PX + border + shift_y


def draw_plate(pixels: NDArray[np.uint8], left: int, top: int, colour: str, texture: str) -> None:
    """Paint a plate; its textured area starts at the first multiple of the period inside the plate."""
    pixels[top : top + PLATE_PX, left : left + PLATE_PX] = COLOURS[colour]
    x = (left + PERIOD_PX) // PERIOD_PX * PERIOD_PX
    y = (top + PERIOD_PX) // PERIOD_PX * PERIOD_PX
    pixels[y : y + TEXTURE_PX, x : x + TEXTURE_PX] = _tile(colour, texture)


@cache
def _tile(colour: str, texture: str) -> NDArray[np.uint8]:
    """The textured area; the contrast changes sign every 2 px, so each 4 x 4 block has the plain mean."""
    half = PERIOD_PX // 2
    stripe = np.where(np.arange(TEXTURE_PX) // half % 2 == 0, CONTRAST, -CONTRAST)
    flat = np.ones(TEXTURE_PX, dtype=int)
    signs = {
        "rows": np.outer(stripe, flat),
        "columns": np.outer(flat, stripe),
        "checks": np.outer(stripe, stripe) // CONTRAST,
        "plain": np.zeros((TEXTURE_PX, TEXTURE_PX), dtype=int),
    }
    return np.asarray(np.asarray(COLOURS[colour]) + signs[texture][:, :, None], dtype=np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkedPlate:
    """A plate with a mark in its middle."""

    colour: str
    mark: str
    box: Box

    @property
    def named(self) -> SceneObject:
        return SceneObject(
            name=self.colour, box=self.box, attributes={"place": place_of(self.box.center), "mark": self.mark}
        )


def draw_plate_mark(rng: Generator, difficulty: float) -> Scene:
    """The mark of one plate."""
    plates = marked_plates(rng, difficulty)
    asked = plates[0]
    question = f"Which mark is on the {asked.colour} plate: white, black, cyan or pink?"
    return marked_scene(plates, difficulty, question, asked.mark, sought=plates[:1])


def draw_plate_pair(rng: Generator, difficulty: float) -> Scene:
    """The marks of two plates, in the order in which the question names them."""
    plates = marked_plates(rng, difficulty)
    first, second = plates[:2]
    question = f"Which marks are on the {first.colour} plate and the {second.colour} plate?"
    return marked_scene(plates, difficulty, question, f"{first.mark} and {second.mark}", sought=plates[:2])


def shown_colours(difficulty: float) -> tuple[str, ...]:
    """The colours that plates of this difficulty may have."""
    return tuple(PLATE_COLOURS)[: whole_knob(difficulty, 4, 4, len(PLATE_COLOURS))]


def draw_plate_five(rng: Generator, difficulty: float) -> Scene:
    """The marks of five of six plates, in the order in which the question names them; in no list of families."""
    plates = marked_plates(rng, difficulty, count=len(PLATE_COLOURS))
    *first, last = (f"the {plate.colour} plate" for plate in plates[:5])
    question = f"Which marks are on {', '.join(first)} and {last}?"
    answer = " and ".join(plate.mark for plate in plates[:5])
    return marked_scene(plates, difficulty, question, answer, sought=plates[:5])


def marked_plates(rng: Generator, difficulty: float, *, count: int | None = None) -> list[MarkedPlate]:
    """Plates in random order; the first are as random as any other.

    ``count`` is how many in place of what the difficulty says, of any of the colours.
    """
    fewest, most = whole_knob(difficulty, 2, 2, 4), whole_knob(difficulty, 2, 3, 6)
    shown = len(shown_colours(difficulty) if count is None else PLATE_COLOURS)
    count = int(rng.integers(fewest, most + 1)) if count is None else count
    jitter = whole_knob(difficulty, 0, 1, 7)
    cells = rng.permutation((SIZE_PX // CELL_PX) ** 2)[:count]
    colours = rng.permutation(shown)[:count]
    marks = rng.integers(len(MARKS), size=count)
    shifts = rng.integers(-jitter, jitter + 1, size=(count, 2))
    plates = []
    for cell, colour, mark, (dx, dy) in zip(cells, colours, marks, shifts):
        left, top = plate_corner(int(cell), int(dx), int(dy))
        box = Box(left, top, left + PLATE_PX, top + PLATE_PX)
        plates.append(MarkedPlate(colour=PLATE_COLOURS[colour], mark=list(MARKS)[mark], box=box))
    return plates


def marked_scene(
    plates: Sequence[MarkedPlate],
    difficulty: float,
    question: str,
    answer: str,
    *,
    sought: Sequence[MarkedPlate],
    kind: AnswerKind = "exact",
    mark_px: int | None = None,
) -> Scene:
    """The plates drawn, everything named, with a question on those that are sought; ``mark_px`` is a mark's side where
    the difficulty is not to say it."""
    pixels = np.full((SIZE_PX, SIZE_PX, 3), BACKGROUND[0], dtype=np.uint8)
    side = mark_px or whole_knob(difficulty, 24, 20, 8)
    inset = (PLATE_PX - side) // 2
    for plate in plates:
        left, top, right, bottom = (int(edge) for edge in plate.box.as_tuple())
        pixels[top:bottom, left:right] = COLOURS[plate.colour]
        pixels[top + inset : top + inset + side, left + inset : left + inset + side] = MARKS[plate.mark]
    asked = SceneQuestion(
        question=question,
        answer=answer,
        answer_kind=kind,
        targets=tuple(rectangle_target(f"{plate.colour} plate", plate.box) for plate in sought),
        looks=(),
        conclusion=in_words([plate.named for plate in sought]),
    )
    return Scene(images=(Image.fromarray(pixels),), asked=asked, objects=tuple(plate.named for plate in plates))
