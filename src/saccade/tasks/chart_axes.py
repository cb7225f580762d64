"""The axes of bar and line charts: values 0 to 100 from the bottom to the top, 2 px to a unit."""

from collections.abc import Sequence

from saccade.geometry import Box, Point
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import FAINT, INK
from saccade.tasks.scene import call, place_of
from saccade.types import ExpertTurn

LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 40, 248, 20, 220
PX_PER_UNIT = 2
TOLERANCE = 0.05
"""Relative; values are at most 95 and at least 5 apart, so that no other value is ever accepted."""

LABEL_SIZE_PX = 11


def value_step(difficulty: float) -> int:
    """All values of a chart are multiples of this: 20 (on the grid lines) below 0.25, 10 below 0.75, then 5."""
    return 20 if difficulty < 0.25 else 10 if difficulty < 0.75 else 5


def values_for(difficulty: float) -> range:
    """The values that a chart of this difficulty may show."""
    step = value_step(difficulty)
    return range(step, 100, step)


def height_of(value: int) -> int:
    """The y coordinate of a value."""
    return BOTTOM_PX - PX_PER_UNIT * value


def slot_centers(count: int) -> list[int]:
    """The x coordinates of so many categories."""
    return [round(LEFT_PX + (RIGHT_PX - LEFT_PX) * (i + 0.5) / count) for i in range(count)]


def draw_axes(canvas: Canvas, categories: Sequence[str]) -> list[Box]:
    """Draw grid lines, axes and labels; the boxes of the categories' labels."""
    for value in range(20, 101, 20):
        canvas.rectangle(Box(LEFT_PX, height_of(value), RIGHT_PX, height_of(value) + 1), FAINT)
    for value in range(0, 101, 20):
        canvas.text(str(value), Point(LEFT_PX - 5, height_of(value)), LABEL_SIZE_PX, anchor="rm")
    canvas.rectangle(Box(LEFT_PX - 2, TOP_PX, LEFT_PX, BOTTOM_PX), INK)
    canvas.rectangle(Box(LEFT_PX - 2, BOTTOM_PX, RIGHT_PX, BOTTOM_PX + 2), INK)
    return [
        canvas.text(category, Point(x, BOTTOM_PX + 16), LABEL_SIZE_PX)
        for category, x in zip(categories, slot_centers(len(categories)))
    ]


def measure_turns(what: str, x: int, from_value: int, to_value: int) -> tuple[ExpertTurn, ExpertTurn]:
    """Measure the axis, then a span of values above one place: their ratio is the span in hundredths."""
    thought = f"{what} {place_of(Point(x, height_of(to_value)))}"
    return (
        call("measure the axis", "measure", start=[LEFT_PX, BOTTOM_PX], end=[LEFT_PX, TOP_PX]),
        call(thought, "measure", start=[x, height_of(from_value)], end=[x, height_of(to_value)]),
    )
