"""Small shapes in cells of a grid, asked for by their place: colour or form, yes or no. A crop of the cell shows it.

Difficulty: shapes 2 at 0, 4 at 0.5, 8 at 1; their radius 16, 12 and 8 px, so that little of a form is seen from afar.
"""

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.drawing import SHAPES, Canvas
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scattering import Thing
from saccade.tasks.scene import (
    PLACE_NAMES,
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    knob,
    pick,
    pick_several,
    target_of,
    whole_knob,
)

CELL_PX = SIZE_PX // 4


def draw_placed_shapes(rng: Generator, difficulty: float) -> Scene:
    """Shapes of different colours, each in the middle of a cell of its own."""
    count, radius = whole_knob(difficulty, 2, 4, 8), knob(difficulty, 16, 12, 8)
    cells = [int(cell) for cell in rng.permutation(len(PLACE_NAMES))[:count]]
    colours = pick_several(rng, COLOUR_NAMES, count)
    canvas = Canvas()
    things, covered = [], []
    for cell, colour in zip(cells, colours):
        center = Point((cell % 4 + 0.5) * CELL_PX, (cell // 4 + 0.5) * CELL_PX)
        things.append(Thing(colour=colour, shape=pick(rng, SHAPES), center=center, radius=radius))
        covered.append(things[-1].draw(canvas))
    place, sought = PLACE_NAMES[cells[0]], things[0]
    question, answer = _asked(rng, sought, place)
    box = Box(*(float(edge) for edge in _cell_edges(cells[0])))
    asked = SceneQuestion(
        question=question,
        answer=answer,
        targets=(target_of(sought.name, covered[0]),),
        looks=(call(place, "crop", bbox_2d=[int(edge) for edge in box.as_tuple()]),),
        conclusion=sought.name,
    )
    return Scene(images=(canvas.image,), asked=asked)


def _cell_edges(cell: int) -> tuple[int, int, int, int]:
    left, top = cell % 4 * CELL_PX, cell // 4 * CELL_PX
    return left, top, left + CELL_PX, top + CELL_PX


def _asked(rng: Generator, sought: Thing, place: str) -> tuple[str, str]:
    """One of the questions on a shape, with its answer."""
    kind = pick(rng, ("colour", "form", "whether"))
    if kind == "colour":
        return f"What colour is the shape at the {place}?", sought.colour
    if kind == "form":
        return f"What form has the shape at the {place}?", sought.shape
    named = sought.shape if rng.integers(2) else pick(rng, tuple(name for name in SHAPES if name != sought.shape))
    return f"Is the shape at the {place} a {named}, yes or no?", "yes" if named == sought.shape else "no"
