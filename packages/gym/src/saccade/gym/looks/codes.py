"""Looks of coded plates: a frame around three windows of fine print."""

from numpy.random import Generator

from saccade.geometry import Box
from saccade.gym.fine import TILE_PX, fine_block
from saccade.gym.grammars.codes import HEIGHT_PX, WIDTH_PX
from saccade.gym.levels import Levels
from saccade.gym.looks.plates import TONE, grained
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState
from saccade.tasks.drawing import BACKGROUND, COLOURS


def _render(painter: Painter, state: SceneState, rng: Generator) -> Rendering:
    for one in state.of_kind("coded"):
        assert one.center is not None
        left, top = int(one.center.x) - WIDTH_PX // 2, int(one.center.y) - HEIGHT_PX // 2
        painter.rectangle(one.id, Box(left, top, left + WIDTH_PX, top + HEIGHT_PX), COLOURS[one.attributes["colour"]])
        base = BACKGROUND[0] + int(rng.integers(-TONE, TONE + 1))
        for place, digit in enumerate(one.attributes["number"]):
            block = fine_block(digit, 3, 3, base)
            painter.pixels(one.id, left + TILE_PX + place * 4 * TILE_PX, top + TILE_PX, block)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_coded(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On mid-grey."""
    return _render(Painter(state.width, state.height), state, rng)


def render_coded_table(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a table top."""
    return _render(Painter(state.width, state.height, grained(rng, state.width, state.height)), state, rng)


CODED = Renderer(name="coded", render=render_coded)
CODED_TABLE = Renderer(name="coded_table", render=render_coded_table)
