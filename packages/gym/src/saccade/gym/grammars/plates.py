"""Plates with fine print: coloured frames around a window whose mark only a closer look shows.

Axes: ``clutter`` (how many plates), ``likeness`` (how many colours and marks there are: few at 1).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.fine import CANVAS_PX, TILE_PX
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

CELL_PX = 64
PLATE_PX = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class PlateMarks:
    """What plates bear."""

    attribute: str
    """What a mark is called: "letter"."""
    symbols: tuple[str, ...]
    counts: tuple[int, int, int] = (4, 9, 18)
    """Plates at the levels 0, 0.5 and 1."""
    kinds: tuple[int, int, int] = (8, 5, 3)
    """PlateMarks that occur, at the levels of ``likeness``."""
    fewer: int = 0
    """By so many their number varies downwards, so that a level does not tell it."""


def plates_grammar(marks: PlateMarks) -> Grammar:
    """The grammar of plates with such marks."""

    def draw(rng: Generator, levels: Levels) -> SceneState:
        most = levels.whole("clutter", *marks.counts)
        count = int(rng.integers(max(3, most * 2 // 3), most + 1))
        kinds = levels.whole("likeness", *marks.kinds)
        if marks.fewer:
            kinds = max(2, kinds - int(rng.integers(marks.fewer + 1)))
        symbols = shuffled(rng, marks.symbols)[:kinds]
        colours = shuffled(rng, COLOUR_NAMES)[: max(3, levels.whole("likeness", 8, 6, 4))]
        cells = rng.permutation((CANVAS_PX // CELL_PX) ** 2)[:count]
        elements = [
            plate(index, int(cell), chosen(rng, colours), marks.attribute, chosen(rng, symbols), rng)
            for index, cell in enumerate(cells)
        ]
        return SceneState(elements=tuple(elements), width=CANVAS_PX, height=CANVAS_PX)

    return Grammar(name=f"plates with a {marks.attribute}", draw=draw, axes=("clutter", "likeness"))


def plate(index: int, cell: int, colour: str, attribute: str, symbol: str, rng: Generator) -> Element:
    """A plate in a cell of the grid, by a tile or two off its corner, so that plates keep off the grid's lines."""
    row, column = divmod(cell, CANVAS_PX // CELL_PX)
    x, y = (int(shift) * TILE_PX for shift in rng.integers(0, 3, size=2))
    half = PLATE_PX // 2
    return Element(
        id=f"plate{index}",
        kind="plate",
        name=f"{colour} plate",
        attributes={"colour": colour, attribute: symbol},
        numbers={"radius": float(half)},
        center=Point(column * CELL_PX + x + half, row * CELL_PX + y + half),
    )
