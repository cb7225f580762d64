"""Looks of transit maps: on white, and on a tinted sheet by night."""

from functools import partial

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.grammars.transit import TransitState
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

WIDE_PX = 8


def render_map(state: SceneState, rng: Generator, levels: Levels, *, ground: Colour, ink: Colour) -> Rendering:
    """Lines below stops, names above both; a name's region is its stop's too."""
    known = as_state(state, TransitState)
    painter, size = Painter(known.width, known.height, ground), levels.whole("print", 15, 14, 12)
    for line in known.lines:
        painter.line("", line.corners, WIDE_PX, PALETTE[line.colour])
    for line in known.lines:
        start, following = line.corners[:2]
        goes_across = following.x > start.x
        at = Point(start.x - 38, start.y) if goes_across else Point(start.x, start.y - 42)
        painter.disc(f"line {line.colour}", at, 13, PALETTE[line.colour])
        painter.text("", line.colour[0].upper(), at, 16, (255, 255, 255))
        beside = Point(at.x, at.y + 21) if goes_across else Point(at.x + 18, at.y)
        painter.text(f"line {line.colour}", line.colour, beside, 12, ink, anchor="mm" if goes_across else "lm")
    for one in known.of_kind("stop"):
        assert one.center is not None
        is_change = one.attributes["stop"] == "change"
        painter.disc(one.id, one.center, 9 if is_change else 6, ink)
        painter.disc(one.id, one.center, 6 if is_change else 3.5, (255, 255, 255))
        painter.text(one.id, one.name, Point(one.center.x + 9, one.center.y - 15), size, ink, anchor="lm", halo=ground)
    return Rendering(images=(painter.image,), regions=painter.regions())


SHEET = Renderer(name="sheet", render=partial(render_map, ground=(252, 252, 250), ink=(24, 26, 34)), axes=("print",))
NIGHT = Renderer(name="night", render=partial(render_map, ground=(30, 34, 46), ink=(236, 238, 244)), axes=("print",))
