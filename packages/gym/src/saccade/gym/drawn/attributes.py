"""Attributes: the colour or the shape of one object, among others, in a named place, or alone and large.

Difficulty of ``attributes``: objects 1 at 0, 3 at 0.5, 6 at 1; their radius 40, 20 and 9 px. Small ones have to be
cropped.

Difficulty of ``placed_shapes``: shapes 2 at 0, 4 at 0.5, 8 at 1; their radius 16, 12 and 8 px, so that little of a form
is seen from afar. A crop of the cell shows it.

Difficulty of ``big_shape``: radius 72 px at 0, 56 at 0.5, 40 at 1. A glance is enough, and code is superfluous.
"""

from collections.abc import Callable

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.code_experts import BIG_COLOUR, coded_scene
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES, Canvas, Thing, scattered
from saccade.tasks.scene import (
    PLACE_NAMES,
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    knob,
    look_box,
    pick,
    pick_several,
    target_of,
    whole_knob,
)

COLOUR_SET = f"{', '.join(COLOUR_NAMES[:-1])} or {COLOUR_NAMES[-1]}"
SHAPE_SET = f"{', '.join(SHAPES[:-1])} or {SHAPES[-1]}"
CELL_PX = SIZE_PX // 4


def draw_attributes(rng: Generator, difficulty: float) -> Scene:
    """Objects that all differ in shape and in colour, so that either names exactly one."""
    count = whole_knob(difficulty, 1, 3, 6)
    radius = knob(difficulty, 40, 20, 9)
    things = [
        Thing(colour=colour, shape=shape, center=center, radius=radius)
        for colour, shape, center in zip(
            pick_several(rng, COLOUR_NAMES, count),
            pick_several(rng, SHAPES, count),
            scattered(rng, count, radius),
        )
    ]
    canvas = Canvas()
    covered = [thing.draw(canvas) for thing in things]
    question, answer, sought = _ASKS[int(rng.integers(len(_ASKS)))](rng, things[0])
    target = target_of(things[0].name, covered[0])
    looks = (crop_turn(look_box(target.box), sought),)
    # What is seen comes before what follows from it: "no" cannot be learned before "blue" is.
    asked = SceneQuestion(question=question, answer=answer, targets=(target,), looks=looks, conclusion=things[0].name)
    return Scene(images=(canvas.image,), asked=asked)


# An ask gives the question, its answer, and the word by which the question tells the object.


def _ask_colour(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    question = pick(rng, (f"What colour is the {asked.shape}", f"Which colour does the {asked.shape} have"))
    return f"{question}: {COLOUR_SET}?", asked.colour, asked.shape


def _ask_shape(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    question = pick(rng, ("What shape is the {} object", "Which shape does the {} object have"))
    return f"{question.format(asked.colour)}: {SHAPE_SET}?", asked.shape, asked.colour


def _ask_whether(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    if rng.integers(2):
        return f"Is the {asked.shape} {asked.colour}, yes or no?", "yes", asked.shape
    other = pick(rng, tuple(name for name in COLOUR_NAMES if name != asked.colour))
    return f"Is the {asked.shape} {other}, yes or no?", "no", asked.shape


_ASKS: tuple[Callable[[Generator, Thing], tuple[str, str, str]], ...] = (_ask_colour, _ask_shape, _ask_whether)


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
    question, answer = _question_and_answer(rng, sought, place)
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


def _question_and_answer(rng: Generator, sought: Thing, place: str) -> tuple[str, str]:
    """One of the questions on a shape, with its answer."""
    kind = pick(rng, ("colour", "form", "whether"))
    if kind == "colour":
        return f"What colour is the shape at the {place}?", sought.colour
    if kind == "form":
        return f"What form has the shape at the {place}?", sought.shape
    named = sought.shape if rng.integers(2) else pick(rng, tuple(name for name in SHAPES if name != sought.shape))
    return f"Is the shape at the {place} a {named}, yes or no?", "yes" if named == sought.shape else "no"


def draw_big_shape(rng: Generator, difficulty: float) -> Scene:
    """A shape of any colour, somewhere in the picture."""
    radius = knob(difficulty, 72, 56, 40)
    low, high = int(radius) + 4, SIZE_PX - int(radius) - 4
    x, y = (int(at) for at in rng.integers(low, high + 1, size=2))
    thing = Thing(colour=pick(rng, COLOUR_NAMES), shape=pick(rng, SHAPES), center=Point(x, y), radius=radius)
    canvas = Canvas()
    covered = thing.draw(canvas)
    return coded_scene(canvas, BIG_COLOUR.asked(), thing.colour, [target_of(thing.name, covered)], "exact")
