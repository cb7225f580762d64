"""Lines and patches beside a scale bar: a line's length or a patch's area, in centimetres or in the bar's units.

Difficulty of ``geometry_length``: lines 1 at 0, 2 at 0.5, 4 at 1; lengths are multiples of 10 cm below 0.25, of 5 below
0.75, then of 2.

Difficulty of ``scale_bar``: things 2 at 0, 3 at 0.5, 4 at 1; lines lie flat at 0 and slope as far as there is room at
0.5 and above; areas are below 100 up to 0.5 and below 200 above.
"""

import math
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.code_experts import AREA, LENGTH, coded_scene
from saccade.tasks.drawing import COLOUR_NAMES, COLOURS, INK, Canvas, Coverage
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    knob,
    pick,
    pick_several,
    place_of,
    rectangle_target,
    target_of,
    whole_knob,
)
from saccade.types import ExpertTurn, Target

# Lengths in centimetres (``geometry_length``).
BAR_CM = 10
CM_BAR_X_PX = 24
CM_BAR_Y_PX = 236
CM_LINE_PX = 3
TICK_PX = 5
LINES_BOTTOM_PX = 208
"""The lines share the height above this; below are the scale bar and its label."""

LABEL_SIZE_PX = 13
BORDER_PX = 16
TOLERANCE = 0.05
"""Relative; lengths are at most 35 cm, so that no other multiple of 2 or more is accepted."""

# Lengths and areas in units (``scale_bar``).
BAR_UNITS = (5, 10, 20)
PX_PER_UNIT = (4, 5, 6)
BAR_Y_PX = 240
LINE_PX = 6
LEAST_UNITS = 8
"""Least length of a line; a slip of half a unit would be 2 px."""

MARGIN_PX = 16
THINGS_END_PX = 224
"""Things lie above this, each in a band of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    colour: str
    length_cm: int
    start: Point
    end: Point
    covered: Coverage


def draw_geometry_length(rng: Generator, difficulty: float) -> Scene:
    """Coloured lines in bands from top to bottom, and a scale bar of 10 cm."""
    count = whole_knob(difficulty, 1, 2, 4)
    step = 10 if difficulty < 0.25 else 5 if difficulty < 0.75 else 2
    bar_px = int(rng.integers(40, 61))
    canvas = Canvas()
    _draw_scale_bar(canvas, bar_px)
    lines = [
        _draw_line(rng, canvas, colour, band, LINES_BOTTOM_PX // count, bar_px, step)
        for band, colour in enumerate(pick_several(rng, COLOUR_NAMES, count))
    ]
    line = lines[int(rng.integers(count))]
    template = pick(rng, ("How long is the {} line in cm?", "What is the length of the {} line in cm?"))
    asked = SceneQuestion(
        question=f"{template.format(line.colour)[:-1]}, a multiple of {step}?",
        answer=str(line.length_cm),
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=(target_of(f"{line.colour} line", line.covered),),
        looks=(
            _measure("measure the scale", Point(CM_BAR_X_PX, CM_BAR_Y_PX), Point(CM_BAR_X_PX + bar_px, CM_BAR_Y_PX)),
            _measure(f"{line.colour} {place_of(line.start)} {place_of(line.end)}", line.start, line.end),
        ),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _draw_scale_bar(canvas: Canvas, bar_px: int) -> None:
    start, end = Point(CM_BAR_X_PX, CM_BAR_Y_PX), Point(CM_BAR_X_PX + bar_px, CM_BAR_Y_PX)
    canvas.line(start, end, 2, INK)
    for x in (start.x, end.x):
        canvas.line(Point(x, CM_BAR_Y_PX - TICK_PX), Point(x, CM_BAR_Y_PX + TICK_PX), 2, INK)
    canvas.text(f"{BAR_CM} cm", Point(end.x + 10, CM_BAR_Y_PX), LABEL_SIZE_PX, anchor="lm")


def _draw_line(rng: Generator, canvas: Canvas, colour: str, band: int, band_px: int, bar_px: int, step: int) -> _Line:
    """A line with a random length and slope that stays inside its band."""
    room_x, room_y = SIZE_PX - 2 * BORDER_PX, band_px - BORDER_PX
    px_per_cm = bar_px / BAR_CM
    longest = min(35, int(room_x / px_per_cm))
    length_cm = step * int(rng.integers(math.ceil(10 / step), longest // step + 1))
    length_px = length_cm * px_per_cm
    steepest = math.asin(min(1.0, room_y / length_px))
    slope = float(rng.uniform(-steepest, steepest))
    dx, dy = length_px * math.cos(slope), length_px * math.sin(slope)
    x = BORDER_PX + float(rng.uniform(0, room_x - dx))
    lowest = band * band_px + BORDER_PX / 2 + max(0.0, -dy)
    y = lowest + float(rng.uniform(0, room_y - abs(dy)))
    start, end = Point(x, y), Point(x + dx, y + dy)
    covered = canvas.line(start, end, CM_LINE_PX, COLOURS[colour])
    return _Line(colour=colour, length_cm=length_cm, start=start, end=end, covered=covered)


def _measure(thought: str, start: Point, end: Point) -> ExpertTurn:
    return call(thought, "measure", start=[round(start.x), round(start.y)], end=[round(end.x), round(end.y)])


def draw_scale_bar(rng: Generator, difficulty: float) -> Scene:
    """Lines and patches of different colours in bands from top to bottom, and the bar below them."""
    count = whole_knob(difficulty, 2, 3, 4)
    unit_px, bar_units = int(rng.choice(PX_PER_UNIT)), int(rng.choice(BAR_UNITS))
    canvas = Canvas()
    canvas.rectangle(Box(MARGIN_PX, BAR_Y_PX, MARGIN_PX + unit_px * bar_units, BAR_Y_PX + 4), INK)
    band_px = THINGS_END_PX // count
    asked_band = int(rng.integers(count))
    answer, question, target = "", "", None
    for band, colour in enumerate(pick_several(rng, COLOUR_NAMES, count)):
        top = band * band_px + 6
        is_line = bool(rng.integers(2))
        draw = _line if is_line else _patch
        units, drawn = draw(rng, canvas, colour, (top, top + band_px - 12), unit_px, difficulty)
        if band == asked_band:
            method = LENGTH if is_line else AREA
            answer, question, target = str(units), method.asked(colour=colour, units=str(bar_units)), drawn
    assert target is not None
    return coded_scene(canvas, question, answer, [target])


def _line(
    rng: Generator, canvas: Canvas, colour: str, rows: tuple[int, int], unit_px: int, difficulty: float
) -> tuple[int, Target]:
    """A line's whole length in units, and the line."""
    units = int(rng.integers(LEAST_UNITS, (SIZE_PX - 2 * MARGIN_PX) // unit_px - 1))
    length = units * unit_px
    room = rows[1] - rows[0] - 2 * LINE_PX
    rise = knob(difficulty, 0, 1, 1) * float(rng.uniform(-1, 1)) * min(room, 0.9 * length)
    run = math.sqrt(length**2 - rise**2)
    x = float(rng.uniform(MARGIN_PX, SIZE_PX - MARGIN_PX - run))
    middle = (rows[0] + rows[1]) / 2
    covered = canvas.line(Point(x, middle - rise / 2), Point(x + run, middle + rise / 2), LINE_PX, COLOURS[colour])
    return units, target_of(f"{colour} line", covered)


def _patch(
    rng: Generator, canvas: Canvas, colour: str, rows: tuple[int, int], unit_px: int, difficulty: float
) -> tuple[int, Target]:
    """A rectangle's area in square units, and the rectangle."""
    most = 99 if difficulty <= 0.5 else 199
    tall = int(rng.integers(2, min(12, (rows[1] - rows[0]) // unit_px) + 1))
    wide = int(rng.integers(3, min(24, most // tall) + 1))
    x = int(rng.integers(MARGIN_PX, SIZE_PX - MARGIN_PX - wide * unit_px + 1))
    y = int(rng.integers(rows[0], rows[1] - tall * unit_px + 1))
    box = Box(x, y, x + wide * unit_px, y + tall * unit_px)
    canvas.rectangle(box, COLOURS[colour])
    return tall * wide, rectangle_target(f"{colour} patch", box)
