"""Looks of boards: cells with things, coloured squares, digits, or fine print in windows."""

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.fine import TILE_PX, fine_block
from saccade.gym.levels import Levels
from saccade.gym.looks.plates import RIM_PX, TONE, grained, mark_of
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import BACKGROUND, COLOURS, INK, PAPER, Colour

GAP_PX = 2
WOOD: Colour = (176, 150, 112)


def _box(one: Element, gap: int) -> Box:
    assert one.center is not None
    half = int(one.numbers["pitch"]) // 2 - gap
    x, y = int(one.center.x), int(one.center.y)
    return Box(x - half, y - half, x + half, y + half)


def _paint_cell(painter: Painter, one: Element, ground: Colour) -> None:
    """The content of a cell in large print: a thing, a colour, a digit; a question mark in a hole."""
    box, center = _box(one, GAP_PX), one.center
    assert center is not None
    size = box.x2 - box.x1
    if one.kind == "hole":
        painter.rectangle(one.id, box, PAPER)
        painter.rectangle(one.id, box, INK, border=2)
        painter.text(one.id, "?", center, round(size * 0.6))
        return
    if "shape" in one.attributes:
        painter.rectangle(one.id, box, ground)
        painter.shape(one.id, one.attributes["shape"], center, size * 0.38, COLOURS[one.attributes["colour"]])
        return
    colour = COLOURS[one.attributes["colour"]] if "colour" in one.attributes else PAPER
    painter.rectangle(one.id, box, ground if one.kind == "empty" else colour)
    if digit := one.get("digit"):
        painter.text(one.id, digit, center, round(size * 0.55))


def render_board(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a light or a dark grey board."""
    tone = int(rng.integers(60, 90))
    painter = Painter(state.width, state.height, (tone, tone, tone))
    for one in state.elements:
        _paint_cell(painter, one, BACKGROUND)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_wood(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a wooden board with grain."""
    painter = Painter(state.width, state.height, grained(rng, state.width, state.height))
    for one in state.elements:
        _paint_cell(painter, one, WOOD)
    return Rendering(images=(painter.image,), regions=painter.regions())


def _paint_fine(painter: Painter, one: Element, rng: Generator) -> None:
    """A frame around a window of fine print, in the middle of the cell; a question mark in a hole."""
    assert one.center is not None
    x, y = (int(side) // TILE_PX * TILE_PX for side in (one.center.x, one.center.y))
    half = 3 * TILE_PX
    box = Box(x - half, y - half, x + half, y + half)
    if one.kind in ("hole", "empty"):
        painter.rectangle(one.id, box, PAPER if one.kind == "hole" else INK)
        if one.kind == "hole":
            painter.text(one.id, "?", Point(x, y), 32)
        return
    painter.rectangle(one.id, box, COLOURS[one.attributes["colour"]] if "colour" in one.attributes else INK)
    base = BACKGROUND[0] + int(rng.integers(-TONE, TONE + 1))
    tiles = (2 * half - 2 * RIM_PX) // TILE_PX
    painter.pixels(one.id, x - half + RIM_PX, y - half + RIM_PX, fine_block(mark_of(one), tiles, tiles, base))


def _render_fine(painter: Painter, state: SceneState, rng: Generator) -> Rendering:
    for one in state.elements:
        _paint_fine(painter, one, rng)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_fine(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Fine print on mid-grey."""
    return _render_fine(Painter(state.width, state.height), state, rng)


def render_fine_wood(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Fine print on a table top."""
    return _render_fine(Painter(state.width, state.height, grained(rng, state.width, state.height)), state, rng)


BOARD = Renderer(name="board", render=render_board)
WOODEN = Renderer(name="wooden", render=render_wood)
FINE = Renderer(name="fine", render=render_fine)
FINE_WOODEN = Renderer(name="fine_wooden", render=render_fine_wood)
