"""Figures of unit squares: one in grey, and four coloured ones, of which one is the grey one turned.

Axes: ``cells`` (how many squares a figure has), ``likeness`` (how many wrong figures are mirror images). How small the
figures are drawn is an axis of the looks.
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

Cells = tuple[tuple[int, int], ...]
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
SIDE_PX = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureState(SceneState):
    """The grey figure's cells, and those of the coloured ones by their ids."""

    model: Cells = ()
    figures: tuple[tuple[str, Cells], ...] = ()
    turns: int = 0
    """Quarter turns clockwise from the grey figure to the one that is it, turned."""


def settled(cells: Cells) -> Cells:
    """The figure with its smallest row and column 0, in order."""
    row, column = min(cell[0] for cell in cells), min(cell[1] for cell in cells)
    return tuple(sorted((cell[0] - row, cell[1] - column) for cell in cells))


def turned(cells: Cells, quarters: int) -> Cells:
    """The figure turned clockwise by quarter turns."""
    for _ in range(quarters % 4):
        cells = tuple((column, -row) for row, column in cells)
    return settled(cells)


def mirrored(cells: Cells) -> Cells:
    """The figure's mirror image, left for right."""
    return settled(tuple((row, -column) for row, column in cells))


def grown(rng: Generator, count: int) -> Cells:
    """A figure of so many squares, of which no turn and no mirror image is the same."""
    while True:
        cells = [(0, 0)]
        while len(cells) < count:
            row, column = chosen(rng, cells)
            down, across = chosen(rng, ((0, 1), (1, 0), (0, -1), (-1, 0)))
            if (row + down, column + across) not in cells:
                cells.append((row + down, column + across))
        figure = settled(tuple(cells))
        if max(max(cell) for cell in figure) < 4 and len(_all_of(figure)) == 8:
            return figure


def _all_of(cells: Cells) -> set[Cells]:
    return {turned(one, quarters) for one in (cells, mirrored(cells)) for quarters in range(4)}


def draw_figures(rng: Generator, levels: Levels) -> FigureState:
    """The turned figure, and three that are its mirror images or others."""
    count = int(rng.integers(levels.whole("cells", 5, 5, 7), levels.whole("cells", 6, 7, 9) + 1))
    model, turns = grown(rng, count), int(rng.integers(1, 4))
    wrong: list[Cells] = []
    while len(wrong) < 3:
        is_mirror = rng.random() < levels.knob("likeness", 0.3, 0.5, 0.7)
        made = turned(mirrored(model) if is_mirror else grown(rng, count), int(rng.integers(4)))
        if is_mirror or made not in _all_of(model):
            wrong.append(made)
    figures = shuffled(rng, [turned(model, turns), *wrong])
    elements = [
        Element(id=f"figure{i}", kind="figure", name=f"{colour} figure", attributes={"colour": colour})
        for i, colour in enumerate(shuffled(rng, COLOURS)[:4])
    ]
    centers = (Point(44, 196), Point(100, 196), Point(156, 196), Point(212, 196))
    placed = [
        Element(id=one.id, kind=one.kind, name=one.name, attributes=one.attributes, center=center)
        for one, center in zip(elements, centers)
    ]
    grey = Element(id="model", kind="model", name="grey figure", attributes={"colour": "grey"}, center=Point(128, 72))
    return FigureState(
        elements=(grey, *placed),
        width=SIDE_PX,
        height=SIDE_PX,
        model=model,
        figures=tuple((one.id, cells) for one, cells in zip(placed, figures)),
        turns=turns,
    )


def _cells(state: SceneState) -> float:
    assert isinstance(state, FigureState)
    return float(len(state.model))


FIGURES = Grammar(name="figures", draw=draw_figures, axes=("cells", "likeness"), hardness=_cells)
