"""Geometry: the length of a line, read against a scale bar.

Difficulty: lines 1 at 0, 2 at 0.5, 4 at 1; lengths are multiples of 10 cm below 0.25, of 5 below 0.75, then of 2.
"""

import math
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import Canvas, Coverage
from saccade.tasks.palette import COLOUR_NAMES, COLOURS, INK
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, call, pick, pick_several, place_of, target_of, whole_knob
from saccade.types import ExpertTurn

BAR_CM = 10
BAR_Y_PX = 236
BAR_X_PX = 24
TICK_PX = 5
LINES_BOTTOM_PX = 208
"""The lines share the height above this; below are the scale bar and its label."""

BORDER_PX = 16
LINE_PX = 3
LABEL_SIZE_PX = 13
TOLERANCE = 0.05
"""Relative; lengths are at most 35 cm, so that no other multiple of 2 or more is accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    colour: str
    length_cm: int
    start: Point
    end: Point
    covered: Coverage


def length_step(difficulty: float) -> int:
    """All lengths are multiples of this many centimetres."""
    return 10 if difficulty < 0.25 else 5 if difficulty < 0.75 else 2


def draw_geometry_length(rng: Generator, difficulty: float) -> Scene:
    """Coloured lines in bands from top to bottom, and a scale bar of 10 cm."""
    count = whole_knob(difficulty, 1, 2, 4)
    step = length_step(difficulty)
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
            _measure("measure the scale", Point(BAR_X_PX, BAR_Y_PX), Point(BAR_X_PX + bar_px, BAR_Y_PX)),
            _measure(f"{line.colour} {place_of(line.start)} {place_of(line.end)}", line.start, line.end),
        ),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _draw_scale_bar(canvas: Canvas, bar_px: int) -> None:
    start, end = Point(BAR_X_PX, BAR_Y_PX), Point(BAR_X_PX + bar_px, BAR_Y_PX)
    canvas.line(start, end, 2, INK)
    for x in (start.x, end.x):
        canvas.line(Point(x, BAR_Y_PX - TICK_PX), Point(x, BAR_Y_PX + TICK_PX), 2, INK)
    canvas.text(f"{BAR_CM} cm", Point(end.x + 10, BAR_Y_PX), LABEL_SIZE_PX, anchor="lm")


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
    covered = canvas.line(start, end, LINE_PX, COLOURS[colour])
    return _Line(colour=colour, length_cm=length_cm, start=start, end=end, covered=covered)


def _measure(thought: str, start: Point, end: Point) -> ExpertTurn:
    return call(thought, "measure", start=[round(start.x), round(start.y)], end=[round(end.x), round(end.y)])
