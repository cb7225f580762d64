"""Towers of cubes on a square floor, seen from above at an angle.

Axes: ``clutter`` (how wide the floor is), ``height`` (how high towers are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

SIDE_PX = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockState(SceneState):
    """Heights of the towers, row by row from the back; the viewer stands in front of the last row."""

    heights: tuple[tuple[int, ...], ...] = ()


def is_seen(heights: tuple[tuple[int, ...], ...]) -> bool:
    """Whether the top of every tower is seen whole: nothing in front of it, towards the viewer, is higher."""
    size = len(heights)
    return all(
        heights[row + step][column + step] <= heights[row][column]
        for row in range(size)
        for column in range(size)
        for step in range(1, size)
        if row + step < size and column + step < size
    )


def draw_blocks(rng: Generator, levels: Levels) -> BlockState:
    """Towers of no to four cubes, each of one colour, every top of which is seen."""
    size, most = levels.whole("clutter", 2, 3, 3), levels.whole("height", 2, 3, 4)
    while True:
        heights = tuple(tuple(int(h) for h in rng.integers(0, most + 1, size=size)) for _ in range(size))
        if is_seen(heights) and sum(map(sum, heights)) >= 3:
            break
    colours = shuffled(rng, COLOUR_NAMES)
    elements = []
    for row in range(size):
        for column in range(size):
            if heights[row][column]:
                colour = colours[len(elements)] if len(elements) < len(colours) else chosen(rng, colours)
                elements.append(
                    Element(
                        id=f"tower{row}_{column}",
                        kind="tower",
                        name=f"{colour} tower",
                        attributes={"colour": colour},
                        numbers={"value": float(heights[row][column]), "row": float(row), "column": float(column)},
                        depth=float(2 * size - row - column),
                    )
                )
    return BlockState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX, heights=heights)


BLOCKS = Grammar(name="towers of cubes", draw=draw_blocks, axes=("clutter", "height"))
