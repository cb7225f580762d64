"""Looks of floor plans: black on white, and white on blue as old prints are."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import product

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.floor_plans import HALF_PX, FloorPlanState, Opening
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour, text_box

WALL_PX = 8
REACH = HALF_PX * 0.85
"""Of a door or a window to both sides of its middle."""
PARTS = 9
"""Points of an arc, and of a leaf after its end."""
CLEAR_PX = 4
"""Around words, at least: no leaf comes nearer."""


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
    swings = [_swing(door) for door in known.doors]
    for index, (door, swing) in enumerate(zip(known.doors, swings)):
        painter.rectangle(f"door:{index}", _gap(door, WALL_PX), floor if index else ground)
        painter.line(f"door:{index}", swing[:PARTS], 1.2, ink)
        painter.line(f"door:{index}", swing[PARTS - 1 :: PARTS], 2, ink)
    for room in range(len(known.names)):
        lines = _lines(known, room, size)
        shift = _shift(known.box(room), lines, [point for swing in swings for point in swing])
        for words, at, letters in lines:
            place = Point(at.x + shift.x, at.y + shift.y)
            painter.text(f"room:{room}", words, place, letters, ink, halo=floor)
    _paint_entrance(painter, known, ink)
    return Rendering(images=(painter.image,), regions=painter.regions())


def _lines(state: FloorPlanState, room: int, size: int) -> list[tuple[str, Point, int]]:
    """A room's name and measures in its middle, with the sizes of their letters."""
    middle, (wide, deep) = state.box(room).center, state.measures(room)
    return [
        (state.names[room], Point(middle.x, middle.y - 9), size),
        (f"{wide:.1f} x {deep:.1f} m", Point(middle.x, middle.y + 10), size - 2),
    ]


def _shift(room: Box, lines: Sequence[tuple[str, Point, int]], swings: Sequence[Point]) -> Point:
    """The least move of words inside their room that keeps them clear of doors' leaves and arcs; none where there is
    no room for it."""
    boxes = [text_box(words, at, letters) for words, at, letters in lines]
    left, top = min(box.x1 for box in boxes) - CLEAR_PX, min(box.y1 for box in boxes) - CLEAR_PX
    right, bottom = max(box.x2 for box in boxes) + CLEAR_PX, max(box.y2 for box in boxes) + CLEAR_PX
    near = [at for at in swings if room.x1 <= at.x <= room.x2 and room.y1 <= at.y <= room.y2]
    half = WALL_PX // 2
    # The least move in a direction ends beside a point.
    across = {0, *(math.floor(at.x - left) + 1 for at in near), *(math.ceil(at.x - right) - 1 for at in near)}
    down = {0, *(math.floor(at.y - top) + 1 for at in near), *(math.ceil(at.y - bottom) - 1 for at in near)}
    for x, y in sorted(product(across, down), key=lambda move: (move[0] ** 2 + move[1] ** 2, move)):
        is_inside = room.x1 + half <= left + x and right + x <= room.x2 - half
        is_inside = is_inside and room.y1 + half <= top + y and bottom + y <= room.y2 - half
        if is_inside and not any(left <= at.x - x <= right and top <= at.y - y <= bottom for at in near):
            return Point(x, y)
    return Point(0, 0)


def _gap(opening: Opening, thick: float) -> Box:
    """The part of the wall that an opening takes."""
    across, along = (thick / 2, REACH) if opening.is_upright else (REACH, thick / 2)
    at = opening.at
    return Box(*map(round, (at.x - across, at.y - along, at.x + across, at.y + along)))


def _swing(door: Opening) -> list[Point]:
    """Where the end of a door's leaf runs until it stands open, then the leaf itself, back to its hinge."""
    at, wide = door.at, 2 * REACH
    turns = [math.pi / 2 * part / (PARTS - 1) for part in range(PARTS)]
    swing = [(wide * math.cos(turn), wide * math.sin(turn)) for turn in turns]
    swing += [(0.0, wide * (PARTS - part) / PARTS) for part in range(1, PARTS + 1)]
    if door.is_upright:
        return [Point(at.x + away, at.y - REACH + along) for along, away in swing]
    return [Point(at.x - REACH + along, at.y - away) for along, away in swing]


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
