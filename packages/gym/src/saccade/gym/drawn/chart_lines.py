"""Line charts: the day on which a line is highest or lowest, its value on a day, which of two lines is higher.

Difficulty: lines 1 at 0, 2 at 0.5, 3 at 1; days 4, 5 and 7; values are multiples of 20, 10 and 5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from numpy.random import Generator

from saccade.geometry import Box, Point, enclosing_box
from saccade.gym.drawn.chart_bars import TOLERANCE, draw_axes, height_of, measure_turns, slot_centers, values_for
from saccade.tasks.drawing import COLOUR_NAMES, COLOURS, DAYS, Canvas, Coverage
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    crop_turn,
    look_box,
    pick,
    pick_several,
    target_of,
    whole_knob,
)
from saccade.types import Target

MARKER_PX = 5
LEAST_DISTANCE = 10
"""Between the values of two lines on a day, so that their markers never touch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chart:
    """The lines' colours, each line's value per day, and where things were drawn."""

    colours: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    labels: tuple[Box, ...]
    markers: tuple[tuple[Coverage, ...], ...]

    def target(self, line: int, day: int) -> Target:
        return target_of(f"{self.colours[line]} on {DAYS[day]}", self.markers[line][day])

    def x(self, day: int) -> int:
        return slot_centers(len(self.labels))[day]


def draw_chart_lines(rng: Generator, difficulty: float) -> Scene:
    """Coloured lines over the days of a week, with a round marker at each value."""
    days = whole_knob(difficulty, 4, 5, 7)
    colours = pick_several(rng, COLOUR_NAMES, whole_knob(difficulty, 1, 2, 3))
    values = _values(rng, list(values_for(difficulty)), len(colours), days)
    canvas = Canvas()
    labels = draw_axes(canvas, DAYS[:days])
    xs = slot_centers(days)
    points = [[Point(x, height_of(value)) for x, value in zip(xs, line)] for line in values]
    for line, colour in zip(points, colours):
        for start, end in pairwise(line):
            canvas.line(start, end, 2, COLOURS[colour])
    # Markers last: none is hidden by another line.
    markers = tuple(
        tuple(canvas.shape("circle", point, MARKER_PX, COLOURS[colour]) for point in line)
        for line, colour in zip(points, colours)
    )
    chart = _Chart(colours=colours, values=values, labels=tuple(labels), markers=markers)
    asks = _ASKS if len(colours) > 1 else _ASKS[:2]
    asked = asks[int(rng.integers(len(asks)))](rng, chart)
    return Scene(images=(canvas.image,), asked=asked)


def _values(rng: Generator, allowed: list[int], lines: int, days: int) -> tuple[tuple[int, ...], ...]:
    """Values per line and day: each line has one highest and one lowest day, and lines keep their distance."""
    chosen: list[tuple[int, ...]] = []
    while len(chosen) < lines:
        line = tuple(allowed[int(i)] for i in rng.integers(len(allowed), size=days))
        stands_out = line.count(max(line)) == line.count(min(line)) == 1
        if stands_out and all(abs(a - b) >= LEAST_DISTANCE for other in chosen for a, b in zip(line, other)):
            chosen.append(line)
    return tuple(chosen)


def _ask_day(rng: Generator, chart: _Chart) -> SceneQuestion:
    line = int(rng.integers(len(chart.colours)))
    word = pick(rng, ("highest", "lowest"))
    values = chart.values[line]
    day = values.index(max(values) if word == "highest" else min(values))
    return SceneQuestion(
        question=f"On which day is the {chart.colours[line]} line {word}?",
        answer=DAYS[day],
        targets=(chart.target(line, day),),
        looks=(crop_turn(look_box(chart.labels[day]), f"{chart.colours[line]} {word} day"),),
    )


def _ask_value(rng: Generator, chart: _Chart) -> SceneQuestion:
    line, day = int(rng.integers(len(chart.colours))), int(rng.integers(len(chart.labels)))
    template = pick(rng, ("What is the value of the {} line on {}?", "How high is the {} line on {}?"))
    value = chart.values[line][day]
    return SceneQuestion(
        question=template.format(chart.colours[line], DAYS[day]),
        answer=str(value),
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=(chart.target(line, day),),
        looks=measure_turns(f"{chart.colours[line]} {DAYS[day]}", chart.x(day), 0, value),
    )


def _ask_higher(rng: Generator, chart: _Chart) -> SceneQuestion:
    first, second = (int(i) for i in rng.permutation(len(chart.colours))[:2])
    day = int(rng.integers(len(chart.labels)))
    higher = first if chart.values[first][day] > chart.values[second][day] else second
    targets = (chart.target(first, day), chart.target(second, day))
    return SceneQuestion(
        question=f"Which line is higher on {DAYS[day]}: {chart.colours[first]} or {chart.colours[second]}?",
        answer=chart.colours[higher],
        targets=targets,
        looks=(crop_turn(look_box(enclosing_box([target.box for target in targets])), DAYS[day]),),
    )


_ASKS: tuple[Callable[[Generator, _Chart], SceneQuestion], ...] = (_ask_day, _ask_value, _ask_higher)
