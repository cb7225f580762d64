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


def stacked(rng: Generator, size: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Heights that never grow towards the viewer, so that every top and every free square of the floor is seen."""
    heights = [[int(height) for height in row] for row in rng.integers(0, most + 1, size=(size, size))]
    if rng.integers(2):
        for row in range(size):
            for column in range(size):
                behind = [heights[row - 1][column]] if row else []
                behind += [heights[row][column - 1]] if column else []
                heights[row][column] = min([heights[row][column], *behind])
    else:
        for row in reversed(range(size)):
            for column in reversed(range(size)):
                before = [heights[row + 1][column]] if row + 1 < size else []
                before += [heights[row][column + 1]] if column + 1 < size else []
                heights[row][column] = max([heights[row][column], *before])
    return tuple(tuple(row) for row in heights)


def draw_blocks(rng: Generator, levels: Levels) -> BlockState:
    """Towers of no to four cubes, each of one colour, none of which hides another's top."""
    size, most = levels.whole("clutter", 2, 3, 3), levels.whole("height", 2, 3, 4)
    while True:
        heights = stacked(rng, size, most)
        if sum(map(sum, heights)) >= 3:
            break
    colours = shuffled(rng, COLOUR_NAMES)
    elements: list[Element] = []
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
