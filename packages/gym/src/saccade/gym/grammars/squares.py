"""Squares of things that are alike but for one.

Axes: ``clutter`` (things in a row), ``margin`` (how little the odd one differs).
"""

from dataclasses import dataclass, replace

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.fine import CANVAS_PX, LETTERS
from saccade.gym.grammars.plates import PLATE_PX
from saccade.gym.grammars.things import thing
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, others, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

SIDE_PX = 256
AXES = ("clutter", "margin")
WAYS = ("colour", "shape", "size", "turn")
TURNED = ("square", "triangle", "star")
"""Shapes of which a turn by 45 or 180 degrees shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SquareState(SceneState):
    """Things in rows and columns, one of which is odd; or none is."""

    per_row: int = 0
    odd: str = ""
    way: str = ""
    """How it differs: one of ``WAYS``."""


def draw_squares(rng: Generator, levels: Levels) -> SquareState:
    """Things of one colour, shape, size and turn, but for one; one time in four for none."""
    per_row = levels.whole("clutter", 3, 4, 6)
    cell = SIDE_PX / per_row
    radius = cell * 0.34
    colour, shape, way = chosen(rng, COLOUR_NAMES), chosen(rng, SHAPES), chosen(rng, WAYS)
    if way == "turn":
        shape = chosen(rng, TURNED)
    odd = -1 if rng.integers(4) == 0 else int(rng.integers(per_row**2))
    elements = []
    for index in range(per_row**2):
        row, column = divmod(index, per_row)
        center = Point(round((column + 0.5) * cell), round((row + 0.5) * cell))
        one = thing(index, colour, shape, center, radius)
        elements.append(_odd(rng, one, way, levels) if index == odd else one)
    return SquareState(
        elements=tuple(elements),
        width=SIDE_PX,
        height=SIDE_PX,
        per_row=per_row,
        odd="" if odd < 0 else f"thing{odd}",
        way="" if odd < 0 else way,
    )


def _odd(rng: Generator, one: Element, way: str, levels: Levels) -> Element:
    if way in ("colour", "shape"):
        options = COLOUR_NAMES if way == "colour" else SHAPES
        attributes = {**one.attributes, way: chosen(rng, others(options, one.attributes[way]))}
        return replace(one, attributes=attributes, name=f"{attributes['colour']} {attributes['shape']}")
    if way == "size":
        ratio = levels.knob("margin", 0.6, 0.7, 0.8)
        return replace(one, numbers={**one.numbers, "radius": one.numbers["radius"] * ratio})
    turn = 45.0 if one.attributes["shape"] == "square" else 180.0
    return replace(one, numbers={**one.numbers, "turn": turn})


def draw_plate_squares(rng: Generator, levels: Levels) -> SquareState:
    """Plates of different colours in a square, all with one letter, but for one."""
    per_row = levels.whole("clutter", 2, 2, 3)
    colours = shuffled(rng, COLOUR_NAMES)
    letters = shuffled(rng, LETTERS)[:2]
    count = min(per_row**2, len(colours))
    odd = -1 if rng.integers(4) == 0 else int(rng.integers(count))
    cell, half = CANVAS_PX // per_row, PLATE_PX // 2
    elements = []
    for index in range(count):
        row, column = divmod(index, per_row)
        left, top = (64 * int(rng.integers(cell // 64)) + 8 * int(rng.integers(3)) for _ in range(2))
        letter = letters[1] if index == odd else letters[0]
        elements.append(
            Element(
                id=f"plate{index}",
                kind="plate",
                name=f"{colours[index]} plate",
                attributes={"colour": colours[index], "letter": letter},
                numbers={"radius": float(half)},
                center=Point(column * cell // 64 * 64 + left + half, row * cell // 64 * 64 + top + half),
            )
        )
    return SquareState(
        elements=tuple(elements),
        width=CANVAS_PX,
        height=CANVAS_PX,
        per_row=per_row,
        odd="" if odd < 0 else f"plate{odd}",
        way="" if odd < 0 else "letter",
    )


SQUARES = Grammar(name="squares of things", draw=draw_squares, axes=AXES)
PLATE_SQUARES = Grammar(name="squares of plates", draw=draw_plate_squares, axes=("clutter",))
