"""Looks of figures of unit squares: on dark grey, or on speckled paper."""

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.figures import Cells, FigureState
from saccade.gym.levels import Levels
from saccade.gym.looks.flat import speckled
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import COLOURS, Colour

MODEL: Colour = (150, 150, 150)
LARGE_PX, SMALL_PX = 26, 12


def _paint(painter: Painter, identity: str, cells: Cells, middle: Point, unit: int, colour: Colour) -> None:
    rows, columns = max(cell[0] for cell in cells) + 1, max(cell[1] for cell in cells) + 1
    left, top = round(middle.x - columns * unit / 2), round(middle.y - rows * unit / 2)
    for row, column in cells:
        x, y = left + column * unit, top + row * unit
        painter.rectangle(identity, Box(x, y, x + unit, y + unit), colour)
        painter.rectangle(identity, Box(x, y, x + unit, y + unit), (20, 20, 20), border=1)


def _render(painter: Painter, state: SceneState) -> Rendering:
    figures = as_state(state, FigureState)
    by_id = {"model": figures.model, **dict(figures.figures)}
    for one in state.elements:
        assert one.center is not None
        unit, colour = (LARGE_PX, MODEL) if one.kind == "model" else (SMALL_PX, COLOURS[one.attributes["colour"]])
        _paint(painter, one.id, by_id[one.id], one.center, unit, colour)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_dark(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On dark grey."""
    tone = int(rng.integers(60, 100))
    return _render(Painter(state.width, state.height, (tone, tone, tone)), state)


def render_sheet(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On speckled paper."""
    return _render(Painter(state.width, state.height, speckled(rng, state.width, state.height)), state)


DARK = Renderer(name="dark", render=render_dark)
SHEET = Renderer(name="sheet", render=render_sheet)
