"""Looks of discs: with a dark rim, on grey or on speckled paper."""

from numpy.random import Generator

from saccade.gym.levels import Levels
from saccade.gym.looks.flat import speckled
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState
from saccade.tasks.drawing import COLOURS, INK


def _render(painter: Painter, state: SceneState) -> Rendering:
    for one in state.of_kind("disc"):
        assert one.center is not None
        painter.disc(one.id, one.center, one.numbers["radius"], INK)
        painter.disc(one.id, one.center, one.numbers["radius"] - 2, COLOURS[one.attributes["colour"]])
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_felt(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On grey."""
    tone = int(rng.integers(110, 150))
    return _render(Painter(state.width, state.height, (tone, tone, tone)), state)


def render_desk(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On speckled paper."""
    return _render(Painter(state.width, state.height, speckled(rng, state.width, state.height)), state)


FELT = Renderer(name="felt", render=render_felt)
DESK = Renderer(name="desk", render=render_desk)
