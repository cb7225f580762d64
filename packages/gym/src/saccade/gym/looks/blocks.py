"""Looks of towers of cubes: isometric, on a tiled floor."""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.grammars.blocks import BlockState
from saccade.gym.levels import Levels
from saccade.gym.looks.flat import speckled
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import COLOURS, Colour

UNIT_X, UNIT_Y, UNIT_Z = 34.0, 18.0, 32.0
FLOOR: Colour = (150, 150, 146)
EDGE: Colour = (24, 24, 24)


def _shade(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(channel * share) for channel in colour)
    return red, green, blue


def _render(painter: Painter, state: SceneState) -> Rendering:
    blocks = as_state(state, BlockState)
    size = len(blocks.heights)
    origin = Point(painter.width / 2, painter.height - 10 - (size + 1) * UNIT_Y)

    def at(row: float, column: float, up: float) -> Point:
        return Point(
            origin.x + (column - row) * UNIT_X,
            origin.y + (column + row - size + 1) * UNIT_Y - up * UNIT_Z,
        )

    def face(element: str, corners: list[Point], colour: Colour) -> None:
        painter.polygon(element, corners, colour)
        painter.line(element, [*corners, corners[0]], 1.5, EDGE)

    def height(row: int, column: int) -> int:
        return blocks.heights[row][column] if row < size and column < size else 0

    for row in range(size):
        for column in range(size):
            if height(row, column):
                continue
            floor = [at(row, column, 0), at(row, column + 1, 0), at(row + 1, column + 1, 0), at(row + 1, column, 0)]
            face("", floor, FLOOR)
    for tower in sorted(state.of_kind("tower"), key=lambda one: -one.depth):
        back, side = round(tower.numbers["row"]), round(tower.numbers["column"])
        colour = COLOURS[tower.attributes["colour"]]
        for level in range(height(back, side)):
            low, high = float(level), float(level + 1)
            # Faces that the next cubes hide are not drawn.
            faces = []
            if height(back + 1, side) <= level:
                faces.append(([(1, 0, low), (1, 1, low), (1, 1, high), (1, 0, high)], 0.8))
            if height(back, side + 1) <= level:
                faces.append(([(1, 1, low), (0, 1, low), (0, 1, high), (1, 1, high)], 0.62))
            if height(back, side) == level + 1:
                faces.append(([(0, 0, high), (0, 1, high), (1, 1, high), (1, 0, high)], 1.0))
            for corners, share in faces:
                points = [at(back + down, side + across, up) for down, across, up in corners]
                face(tower.id, points, _shade(colour, share))
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_blocks(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a light ground."""
    tone = int(rng.integers(190, 230))
    return _render(Painter(state.width, state.height, (tone, tone, tone)), state)


def render_blocks_paper(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On speckled paper."""
    return _render(Painter(state.width, state.height, speckled(rng, state.width, state.height)), state)


ISOMETRIC = Renderer(name="isometric", render=render_blocks)
ISOMETRIC_PAPER = Renderer(name="isometric_paper", render=render_blocks_paper)
