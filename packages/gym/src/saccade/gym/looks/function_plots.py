"""Looks of graphs of functions: on white squared paper, and on a dark board."""

from dataclasses import dataclass
from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.function_plots import REACH, XS, Curve, FunctionsState
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

EDGE_PX, PLACE_PX, STEPS = 30, 9, 16
"""Around the plot; of a place to each side; pieces of a graph for each unit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Paper:
    ground: Colour
    squares: Colour
    ink: Colour


def _at(state: FunctionsState, x: float, y: float) -> Point:
    """Pixels of a place of the plot."""
    return Point(EDGE_PX + (x + REACH) * state.unit_px, EDGE_PX + (REACH - y) * state.unit_px)


def _runs(state: FunctionsState, curve: Curve) -> list[list[Point]]:
    """The pieces of a graph that lie in the plot."""
    runs: list[list[Point]] = [[]]
    for step in range(-REACH * STEPS, REACH * STEPS + 1):
        x = step / STEPS
        y = curve.at(x)
        if abs(y) <= REACH:
            runs[-1].append(_at(state, x, y))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if len(run) > 1]


def render_functions(state: SceneState, rng: Generator, levels: Levels, *, paper: _Paper) -> Rendering:
    """Squares, axes with numbers, graphs, and a legend at the right."""
    known = as_state(state, FunctionsState)
    painter = Painter(known.width, known.height, paper.ground)
    side = EDGE_PX + 2 * REACH * known.unit_px
    for value in XS:
        x, y = (round(part) for part in (_at(known, value, 0).x, _at(known, 0, value).y))
        painter.rectangle("", Box(x, EDGE_PX, x + 1, side), paper.squares)
        painter.rectangle("", Box(EDGE_PX, y, side, y + 1), paper.squares)
    middle = _at(known, 0, 0)
    painter.line("", [Point(EDGE_PX - 8, middle.y), Point(side + 10, middle.y)], 2, paper.ink)
    painter.line("", [Point(middle.x, EDGE_PX - 10), Point(middle.x, side + 8)], 2, paper.ink)
    painter.text("", "x", Point(side + 18, middle.y), 15, paper.ink)
    painter.text("", "y", Point(middle.x + 12, EDGE_PX - 14), 15, paper.ink)
    for curve in known.curves:
        for run in _runs(known, curve):
            painter.line(f"curve:{curve.name}", run, 2.8, PALETTE[curve.colour])
    for value in XS:
        if value % 2 == 0 and value:
            along, up = _at(known, value, 0), _at(known, 0, value)
            painter.text("", str(value), Point(along.x, along.y + 11), 12, paper.ink, halo=paper.ground)
            painter.text("", str(value), Point(up.x - 8, up.y), 12, paper.ink, anchor="rm", halo=paper.ground)
    for index, curve in enumerate(known.curves):
        at = Point(side + 34, EDGE_PX + 14 + 26 * index)
        ends = [at, Point(at.x + 24, at.y)]
        painter.line(f"name:{curve.name}", ends, 4, PALETTE[curve.colour])
        painter.text(f"name:{curve.name}", curve.name, Point(at.x + 38, at.y), 17, paper.ink)
    return Rendering(images=(painter.image,), regions=(*painter.regions(), *_places(known)))


def _places(state: FunctionsState) -> list[SeenRegion]:
    """A square around each corner that a graph goes through."""
    found = []
    for curve in state.curves:
        for x in curve.places():
            at = _at(state, x, curve.at(x))
            box = Box(at.x - PLACE_PX, at.y - PLACE_PX, at.x + PLACE_PX, at.y + PLACE_PX)
            found.append(SeenRegion(element=f"place:{curve.name}:{x}", box=box))
    return found


WHITE = _Paper(ground=(252, 252, 252), squares=(214, 220, 230), ink=(30, 32, 40))
BOARD = _Paper(ground=(34, 46, 44), squares=(64, 80, 76), ink=(232, 236, 232))
SQUARED = Renderer(name="squared", render=partial(render_functions, paper=WHITE), axes=("print",))
CHALK = Renderer(name="board", render=partial(render_functions, paper=BOARD), axes=("print",))
