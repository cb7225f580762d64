"""Flat looks of things: plain colours on mid-grey, or outlined on speckled paper."""

from functools import partial

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.gym.levels import Levels
from saccade.gym.looks.views import each_view
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOURS, INK

SPECKLE = 14
"""Speckles of paper are so much lighter or darker at most."""


def render_plain(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Things in their exact colours on mid-grey."""
    return each_view(state, "thing", lambda: Painter(state.width, state.height), paint_thing)


def render_paper(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Things with an ink outline on paper with speckles and a tint."""
    ground = speckled(rng, state.width, state.height)

    def paper() -> Painter:
        return Painter(state.width, state.height, ground.copy())

    return each_view(state, "thing", paper, partial(paint_thing, outline=2.0))


def speckled(rng: Generator, width: int, height: int) -> Image.Image:
    """Paper with speckles, of a light tint."""
    tint = rng.integers(214, 240, size=3).astype(np.int16)
    noise = rng.integers(-SPECKLE, SPECKLE + 1, size=(height // 2, width // 2, 1), dtype=np.int16)
    small = (tint + noise).astype(np.uint8)
    return Image.fromarray(small.repeat(2, axis=0).repeat(2, axis=1))


def paint_thing(painter: Painter, element: Element, outline: float = 0.0) -> None:
    """A shape in its colour, with an ink outline of so many pixels."""
    assert element.center is not None
    radius, turn = element.numbers["radius"], element.numbers.get("turn", 0.0)
    shape, colour = element.attributes["shape"], COLOURS[element.attributes["colour"]]
    if outline:
        painter.shape(element.id, shape, element.center, radius, INK, turn)
    painter.shape(element.id, shape, element.center, radius, colour, turn, inset=outline)


PLAIN = Renderer(name="plain", render=render_plain, has_flat_colours=True)
PAPER = Renderer(name="paper", render=render_paper)
