"""Looks of mazes: dark walls on a light floor, or light walls on a dark one."""

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.mazes import MazeState
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import COLOURS, INK, PAPER, Colour

WALL_PX = 4


def _render(state: SceneState, floor: Colour, wall: Colour) -> Rendering:
    maze = as_state(state, MazeState)
    painter = Painter(state.width, state.height, floor)
    unit = (state.width - 16) // maze.size
    edge = (state.width - unit * maze.size) // 2
    open_sides = {frozenset(passage) for passage in maze.passages}
    for row in range(maze.size):
        for column in range(maze.size):
            x, y = edge + column * unit, edge + row * unit
            if frozenset({(row, column), (row, column + 1)}) not in open_sides:
                painter.rectangle("", Box(x + unit - 2, y - 2, x + unit + 2, y + unit + 2), wall)
            if frozenset({(row, column), (row + 1, column)}) not in open_sides:
                painter.rectangle("", Box(x - 2, y + unit - 2, x + unit + 2, y + unit + 2), wall)
    frame = Box(edge - 2, edge - 2, edge + unit * maze.size + 2, edge + unit * maze.size + 2)
    painter.rectangle("", frame, wall, border=WALL_PX)
    for one in state.elements:
        middle = Point(edge + (one.numbers["column"] + 0.5) * unit, edge + (one.numbers["row"] + 0.5) * unit)
        if one.kind == "start":
            painter.shape(one.id, "star", middle, unit * 0.36, wall)
        else:
            painter.disc(one.id, middle, unit * 0.28, COLOURS[one.attributes["colour"]])
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_light(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Dark walls on a light floor."""
    tone = int(rng.integers(205, 240))
    return _render(state, (tone, tone, tone), INK)


def render_night(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Light walls on a dark floor."""
    tone = int(rng.integers(70, 110))
    return _render(state, (tone, tone, tone), PAPER)


LIGHT = Renderer(name="light", render=render_light)
NIGHT = Renderer(name="night", render=render_night)
