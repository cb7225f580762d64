"""Looks of plates with fine print: on plain grey, or on a table top with grain."""

from functools import partial

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box, Point
from saccade.gym.fine import TILE_PX, fine_block
from saccade.gym.levels import Levels
from saccade.gym.looks.views import each_view
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import BACKGROUND, COLOURS

RIM_PX = 8
MARKS = ("texture", "letter", "digit", "arrow")
TONE = 10
"""Windows are by so much darker or lighter than mid-grey at most, whatever they bear."""


def mark_of(element: Element) -> str:
    """What an element bears; "plain" where it bears nothing."""
    return next((element.attributes[kind] for kind in MARKS if kind in element.attributes), "plain")


def paint_plate(painter: Painter, element: Element, tones: dict[Point, int]) -> None:
    """A frame in the plate's colour around a window with its mark, on the grid of tiles."""
    assert element.center is not None
    half = int(element.numbers["radius"])
    left, top = int(element.center.x) - half, int(element.center.y) - half
    painter.rectangle(
        element.id, Box(left, top, left + 2 * half, top + 2 * half), COLOURS[element.attributes["colour"]]
    )
    tiles = (2 * half - 2 * RIM_PX) // TILE_PX
    base = tones[element.center]
    painter.pixels(element.id, left + RIM_PX, top + RIM_PX, fine_block(mark_of(element), tiles, tiles, base))


def _tones(state: SceneState, rng: Generator) -> dict[Point, int]:
    """The grey of each place's window, the same in all views: what it bears does not change it."""
    places = dict.fromkeys(element.center for element in state.of_kind("plate"))
    return {place: BACKGROUND[0] + int(rng.integers(-TONE, TONE + 1)) for place in places if place is not None}


def grained(rng: Generator, width: int, height: int) -> Image.Image:
    """A table top: a warm grey with grain along the rows."""
    tone = rng.integers(96, 150, size=3).astype(np.int16)
    grain = rng.integers(-10, 11, size=(height // 4, width // 32, 1), dtype=np.int16)
    small = (tone + grain).astype(np.uint8)
    return Image.fromarray(small.repeat(4, axis=0).repeat(32, axis=1))


def render_plates(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Plates on mid-grey."""
    paint = partial(paint_plate, tones=_tones(state, rng))
    return each_view(state, "plate", lambda: Painter(state.width, state.height), paint)


def render_table(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Plates on a table top."""
    ground, tones = grained(rng, state.width, state.height), _tones(state, rng)

    def table() -> Painter:
        return Painter(state.width, state.height, ground.copy())

    return each_view(state, "plate", table, partial(paint_plate, tones=tones))


PLATES = Renderer(name="plates", render=render_plates)
TABLE = Renderer(name="table", render=render_table)
