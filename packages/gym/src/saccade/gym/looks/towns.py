"""Looks of towns: light streets between blocks, by day and at dusk."""

from numpy.random import Generator

from saccade.geometry import Box
from saccade.gym.levels import Levels
from saccade.gym.looks.flat import paint_thing
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState
from saccade.tasks.drawing import INK, PAPER, Colour

STREET_PX = 14


def _render(state: SceneState, block: Colour, street: Colour) -> Rendering:
    painter = Painter(state.width, state.height, block)
    size = int(state.elements[0].numbers["size"])
    pitch = state.width / size
    for line in range(size):
        middle = round((line + 0.5) * pitch)
        painter.rectangle("", Box(0, middle - STREET_PX // 2, state.width, middle + STREET_PX // 2), street)
        painter.rectangle("", Box(middle - STREET_PX // 2, 0, middle + STREET_PX // 2, state.height), street)
    for one in state.of_kind("landmark"):
        paint_thing(painter, one, outline=2.0)
    for one in state.of_kind("walker"):
        assert one.center is not None
        painter.disc(one.id, one.center, one.numbers["radius"], INK)
        painter.disc(one.id, one.center, one.numbers["radius"] * 0.6, PAPER)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_day(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Grey-green blocks."""
    red, green, blue = (int(tone) for tone in rng.integers((120, 140, 120), (160, 175, 150)))
    return _render(state, (red, green, blue), (228, 226, 220))


def render_dusk(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Dark blocks."""
    red, green, blue = (int(tone) for tone in rng.integers((60, 60, 70), (90, 90, 110)))
    return _render(state, (red, green, blue), (150, 148, 144))


DAY = Renderer(name="day", render=render_day)
DUSK = Renderer(name="dusk", render=render_dusk)
