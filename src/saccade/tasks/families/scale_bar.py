"""Lines and patches beside a scale bar: how long is a line, how large is a patch, in the bar's units?

Difficulty: things 2 at 0, 3 at 0.5, 4 at 1; lines lie flat at 0 and slope as far as there is room at 0.5 and above;
areas are below 100 up to 0.5 and below 200 above.
"""

import math

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.code_experts import one_run
from saccade.tasks.code_methods import AREA, LENGTH
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import COLOUR_NAMES, COLOURS, INK
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    knob,
    pick_several,
    rectangle_target,
    target_of,
    whole_knob,
)
from saccade.types import Target

PX_PER_UNIT = (4, 5, 6)
BAR_UNITS = (5, 10, 20)
LEAST_UNITS = 8
"""Least length of a line; a slip of half a unit would be 2 px."""
MARGIN_PX = 16
BAR_Y_PX = 240
LINE_PX = 6
THINGS_END_PX = 224
"""Things lie above this, each in a band of its own."""


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
    asked = SceneQuestion(
        question=question,
        answer=answer,
        answer_kind="integer",
        targets=(target,),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)


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
