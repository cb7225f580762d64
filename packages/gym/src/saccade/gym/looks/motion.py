"""Videos of balls in a box, frame by frame."""

from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box, Point
from saccade.gym.grammars.motion import EVERY_S, FRAMES, WALL_PX, place_at
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState
from saccade.tasks.drawing import BACKGROUND, Colour

PAPER: Colour = (226, 222, 212)
WALL: Colour = (60, 60, 64)


def render_grey(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On mid-grey."""
    return _render_on(state, BACKGROUND)


def render_paper(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On light paper."""
    return _render_on(state, PAPER)


def _render_on(state: SceneState, ground: Colour) -> Rendering:
    images: list[Image.Image] = []
    regions: list[SeenRegion] = []
    times = tuple(EVERY_S * frame for frame in range(FRAMES))
    for frame, time_s in enumerate(times):
        painter = Painter(state.width, state.height, ground)
        painter.rectangle("", Box(0, 0, state.width, state.height), WALL, WALL_PX)
        for ball in state.of_kind("ball"):
            center = Point(place_at(ball, time_s), ball.numbers["y"])
            painter.disc(ball.id, center, ball.numbers["radius"], PALETTE[ball.attributes["colour"]])
        images.append(painter.image)
        regions += painter.regions(frame)
    return Rendering(images=tuple(images), regions=tuple(regions), frame_times_s=times)


GREY_BOX = Renderer(name="grey", render=render_grey)
PAPER_BOX = Renderer(name="paper", render=render_paper)
