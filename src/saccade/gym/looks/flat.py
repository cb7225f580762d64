"""Flat looks of things: plain colours on mid-grey, or outlined on speckled paper."""

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState
from saccade.tasks.drawing import COLOURS, INK

SPECKLE = 14
"""Speckles of paper are so much lighter or darker at most."""


def render_plain(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Things in their exact colours on mid-grey."""
    return _rendered(state, Painter(state.width, state.height), outline=0.0)


def render_paper(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Things with an ink outline on paper with speckles and a tint."""
    return _rendered(state, Painter(state.width, state.height, speckled(rng, state.width, state.height)), outline=2.0)


def speckled(rng: Generator, width: int, height: int) -> Image.Image:
    """Paper with speckles, of a light tint."""
    tint = rng.integers(214, 240, size=3).astype(np.int16)
    noise = rng.integers(-SPECKLE, SPECKLE + 1, size=(height // 2, width // 2, 1), dtype=np.int16)
    small = (tint + noise).astype(np.uint8)
    return Image.fromarray(small.repeat(2, axis=0).repeat(2, axis=1))


def _rendered(state: SceneState, painter: Painter, outline: float) -> Rendering:
    for element in state.of_kind("thing"):
        assert element.center is not None
        radius, turn = element.numbers["radius"], element.numbers.get("turn", 0.0)
        shape, colour = element.attributes["shape"], COLOURS[element.attributes["colour"]]
        if outline:
            painter.shape(element.id, shape, element.center, radius, INK, turn)
            radius -= outline * (2 if shape in ("star", "cross", "triangle") else 1)
        painter.shape(element.id, shape, element.center, radius, colour, turn)
    return Rendering(images=(painter.image,), regions=painter.regions())


PLAIN = Renderer(name="plain", render=render_plain, has_flat_colours=True)
PAPER = Renderer(name="paper", render=render_paper)
