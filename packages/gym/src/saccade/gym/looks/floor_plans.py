"""Looks of floor plans: black on white, and white on blue as old prints are."""

import math
from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.floor_plans import HALF_PX, FloorPlanState, Opening
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

WALL_PX = 8
REACH = HALF_PX * 0.85
"""Of a door or a window to both sides of its middle."""


def render_plan(
    state: SceneState, rng: Generator, levels: Levels, *, floor: Colour, ground: Colour, ink: Colour, glass: Colour
) -> Rendering:
    """Rooms, walls, windows, then doors as gaps with a leaf."""
    known = as_state(state, FloorPlanState)
    painter, size = Painter(known.width, known.height, ground), levels.whole("print", 15, 14, 12)
    for room in range(len(known.names)):
        painter.rectangle(f"room:{room}", known.box(room), floor)
    for room in range(len(known.names)):
        box, half = known.box(room), WALL_PX // 2
        frame = Box(box.x1 - half, box.y1 - half, box.x2 + half, box.y2 + half)
        painter.rectangle("", frame, ink, border=WALL_PX)
    for index, window in enumerate(known.windows):
        painter.rectangle(f"window:{index}", _gap(window, WALL_PX), ink)
        painter.rectangle(f"window:{index}", _gap(window, WALL_PX - 4), glass)
    for index, door in enumerate(known.doors):
        _paint_door(painter, f"door:{index}", door, floor if index else ground, ink)
    for room, name in enumerate(known.names):
        wide, deep = known.measures(room)
        middle = known.box(room).center
        painter.text(f"room:{room}", name, Point(middle.x, middle.y - 9), size, ink, halo=floor)
        painter.text(
            f"room:{room}", f"{wide:.1f} x {deep:.1f} m", Point(middle.x, middle.y + 10), size - 2, ink, halo=floor
        )
    _paint_entrance(painter, known, ink)
    return Rendering(images=(painter.image,), regions=painter.regions())


def _gap(opening: Opening, thick: float) -> Box:
    """The part of the wall that an opening takes."""
    across, along = (thick / 2, REACH) if opening.is_upright else (REACH, thick / 2)
    at = opening.at
    return Box(*map(round, (at.x - across, at.y - along, at.x + across, at.y + along)))


def _paint_door(painter: Painter, element: str, door: Opening, floor: Colour, ink: Colour) -> None:
    """A gap, with the leaf open and the arc that it runs along."""
    painter.rectangle(element, _gap(door, WALL_PX), floor)
    at, wide = door.at, 2 * REACH
    hinge = Point(at.x, at.y - REACH) if door.is_upright else Point(at.x - REACH, at.y)
    turns = [math.radians(90 * step / 8) for step in range(9)]
    if door.is_upright:
        arc = [Point(hinge.x + wide * math.sin(turn), hinge.y + wide * math.cos(turn)) for turn in turns]
    else:
        arc = [Point(hinge.x + wide * math.cos(turn), hinge.y - wide * math.sin(turn)) for turn in turns]
    painter.line(element, arc, 1.2, ink)
    painter.line(element, [hinge, arc[-1]], 2, ink)


def _paint_entrance(painter: Painter, state: FloorPlanState, ink: Colour) -> None:
    """The word outside, at the side where the door is."""
    door = state.doors[0]
    box = state.box(door.rooms[0])
    x, y = door.at.x, door.at.y
    if door.is_upright:
        x, y = x + (-28 if x == box.x1 else 28), y - REACH - 12
    else:
        x, y = x - REACH - 16, y + (-18 if y == box.y1 else 22)
    painter.text("door:0", "IN", Point(x, y), 15, ink)


PAPER_LOOK = partial(
    render_plan, floor=(253, 253, 251), ground=(236, 236, 232), ink=(22, 24, 30), glass=(150, 200, 236)
)
BLUE_LOOK = partial(render_plan, floor=(30, 66, 128), ground=(24, 52, 106), ink=(236, 242, 252), glass=(112, 170, 226))
DRAWN = Renderer(name="drawn", render=PAPER_LOOK, axes=("print",))
BLUE = Renderer(name="blue", render=BLUE_LOOK, axes=("print",))
