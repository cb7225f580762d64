"""Looks of figures of unit squares: on dark grey, or on speckled paper.

Axis: ``size`` (how small the squares are).
"""

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
AXES = ("size",)


def _paint(painter: Painter, identity: str, cells: Cells, middle: Point, unit: int, colour: Colour) -> None:
    rows, columns = max(cell[0] for cell in cells) + 1, max(cell[1] for cell in cells) + 1
    left, top = round(middle.x - columns * unit / 2), round(middle.y - rows * unit / 2)
    for row, column in cells:
        x, y = left + column * unit, top + row * unit
        painter.rectangle(identity, Box(x, y, x + unit, y + unit), colour)
        painter.rectangle(identity, Box(x, y, x + unit, y + unit), (20, 20, 20), border=1)


def _render(painter: Painter, state: SceneState, levels: Levels) -> Rendering:
    figures = as_state(state, FigureState)
    large_px, small_px = levels.whole("size", 28, 26, 18), levels.whole("size", 13, 12, 8)
    by_id = {"model": figures.model, **dict(figures.figures)}
    for one in state.elements:
        assert one.center is not None
        unit, colour = (large_px, MODEL) if one.kind == "model" else (small_px, COLOURS[one.attributes["colour"]])
        _paint(painter, one.id, by_id[one.id], one.center, unit, colour)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_dark(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On dark grey."""
    tone = int(rng.integers(60, 100))
    return _render(Painter(state.width, state.height, (tone, tone, tone)), state, levels)


def render_sheet(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On speckled paper."""
    return _render(Painter(state.width, state.height, speckled(rng, state.width, state.height)), state, levels)


DARK = Renderer(name="dark", render=render_dark, axes=AXES)
SHEET = Renderer(name="sheet", render=render_sheet, axes=AXES)
