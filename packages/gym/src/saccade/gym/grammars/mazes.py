"""Mazes: cells with walls between them, a start and coloured spots.

Axes: ``clutter`` (how large the maze is), ``walls`` (how much of it cannot be reached).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

Cell = tuple[int, int]
SIDE_PX = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class MazeState(SceneState):
    """A maze; the walls are all but the passages."""

    size: int = 0
    passages: tuple[tuple[Cell, Cell], ...] = ()


def neighbours(cell: Cell, size: int) -> list[Cell]:
    """The cells that share a side with one."""
    row, column = cell
    beside = ((row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1))
    return [(r, c) for r, c in beside if 0 <= r < size and 0 <= c < size]


def _tree(rng: Generator, size: int) -> list[tuple[Cell, Cell]]:
    """Passages that lead from each cell to each other in exactly one way."""
    path: list[Cell] = [(int(rng.integers(size)), int(rng.integers(size)))]
    seen, passages = {path[0]}, []
    while path:
        free = [cell for cell in neighbours(path[-1], size) if cell not in seen]
        if not free:
            path.pop()
            continue
        step = chosen(rng, free)
        passages.append((path[-1], step))
        seen.add(step)
        path.append(step)
    return passages


def draw_maze(rng: Generator, levels: Levels) -> MazeState:
    """A maze with a start and up to five spots; some passages are walled up, so that some spots cannot be reached."""
    size = levels.whole("clutter", 4, 6, 8)
    passages = _tree(rng, size)
    walled = levels.whole("walls", 1, 2, 2)
    kept = shuffled(rng, passages)[walled:]
    cells = shuffled(rng, [(row, column) for row in range(size) for column in range(size)])
    colours = shuffled(rng, COLOUR_NAMES)
    elements = [
        Element(
            id="start" if index == 0 else f"spot{index}",
            kind="start" if index == 0 else "spot",
            name="start" if index == 0 else f"{colours[index]} spot",
            attributes={} if index == 0 else {"colour": colours[index]},
            numbers={"row": float(row), "column": float(column)},
        )
        for index, (row, column) in enumerate(cells[: levels.whole("clutter", 4, 5, 6)])
    ]
    return MazeState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX, size=size, passages=tuple(sorted(kept)))


MAZE = Grammar(name="mazes", draw=draw_maze, axes=("clutter", "walls"))
