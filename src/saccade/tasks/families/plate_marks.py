"""Marked plates: which mark a plate of a named colour bears, or which two marks two plates bear.

Plates lie in a 4 x 4 grid of cells, one to a cell, each of a colour of its own with a small square in its middle. A
plate is easy to find from afar; its mark is small, so that a view of 64 px shows little of it and a crop all of it.
Everything in the picture is named with its place and its mark (``Task.objects``), so that an exact judge can tell what
a text says of it.

Difficulty: plates 2 at 0, 2-3 at 0.5, 4-6 at 1; the mark's side 24, 20 and 8 px; jitter inside the cell 0, 1 and 7 px;
colours 4 up to 0.5, then up to 6 at 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box
from saccade.tasks.families.visual_search import CELL_PX, PLATE_PX, plate_corner
from saccade.tasks.palette import BACKGROUND, COLOUR_NAMES, COLOURS, INK, PAPER, Colour
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, place_of, rectangle_target, whole_knob
from saccade.tasks.two_streams import in_words
from saccade.types import SceneObject

MARKS: dict[str, Colour] = {"white": PAPER, "black": INK, "cyan": COLOURS["cyan"], "pink": COLOURS["pink"]}
"""No plate has one of these colours."""

PLATE_COLOURS = tuple(name for name in COLOUR_NAMES if name not in MARKS)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plate:
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
    plates = _plates(rng, difficulty)
    asked = plates[0]
    question = f"Which mark is on the {asked.colour} plate: white, black, cyan or pink?"
    return _scene(plates, difficulty, question, asked.mark, sought=1)


def draw_plate_pair(rng: Generator, difficulty: float) -> Scene:
    """The marks of two plates, in the order in which the question names them."""
    plates = _plates(rng, difficulty)
    first, second = plates[:2]
    question = f"Which marks are on the {first.colour} plate and the {second.colour} plate?"
    return _scene(plates, difficulty, question, f"{first.mark} and {second.mark}", sought=2)


def _plates(rng: Generator, difficulty: float) -> list[_Plate]:
    """In random order; the first are as random as any other."""
    fewest, most = whole_knob(difficulty, 2, 2, 4), whole_knob(difficulty, 2, 3, 6)
    count = int(rng.integers(fewest, most + 1))
    jitter = whole_knob(difficulty, 0, 1, 7)
    cells = rng.permutation((SIZE_PX // CELL_PX) ** 2)[:count]
    colours = rng.permutation(whole_knob(difficulty, 4, 4, len(PLATE_COLOURS)))[:count]
    marks = rng.integers(len(MARKS), size=count)
    shifts = rng.integers(-jitter, jitter + 1, size=(count, 2))
    plates = []
    for cell, colour, mark, (dx, dy) in zip(cells, colours, marks, shifts):
        left, top = plate_corner(int(cell), int(dx), int(dy))
        box = Box(left, top, left + PLATE_PX, top + PLATE_PX)
        plates.append(_Plate(colour=PLATE_COLOURS[colour], mark=list(MARKS)[mark], box=box))
    return plates


def _scene(plates: list[_Plate], difficulty: float, question: str, answer: str, *, sought: int) -> Scene:
    pixels = np.full((SIZE_PX, SIZE_PX, 3), BACKGROUND[0], dtype=np.uint8)
    side = whole_knob(difficulty, 24, 20, 8)
    inset = (PLATE_PX - side) // 2
    for plate in plates:
        left, top, right, bottom = (int(edge) for edge in plate.box.as_tuple())
        pixels[top:bottom, left:right] = COLOURS[plate.colour]
        pixels[top + inset : top + inset + side, left + inset : left + inset + side] = MARKS[plate.mark]
    targets = tuple(rectangle_target(f"{plate.colour} plate", plate.box) for plate in plates[:sought])
    asked = SceneQuestion(
        question=question,
        answer=answer,
        targets=targets,
        looks=(),
        conclusion=in_words([plate.named for plate in plates[:sought]]),
    )
    return Scene(images=(Image.fromarray(pixels),), asked=asked, objects=tuple(plate.named for plate in plates))
