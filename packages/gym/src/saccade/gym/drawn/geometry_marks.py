"""The ink of a geometry diagram: lines, circles and marks, with the geometry of points in the picture that it needs."""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Point
from saccade.gym.drawn.geometry_sketch import Sketch
from saccade.tasks.drawing import INK, Canvas, on_circle

LINE_PX = 2
MARK_PX = 1.4
"""Width of marks."""

ARC_PX, ARC_STEP_PX = 17, 4
SQUARE_PX = 9
TICK_PX, TICK_STEP_PX = 5, 5
HEAD_PX = 5
"""Size of an arrow head, along the line and across it."""

DOT_PX = 2.6

Path = NDArray[np.float64]
"""Places that ink covers, (count, 2)."""


def opening(first: Point, vertex: Point, second: Point) -> tuple[float, float]:
    """Where the angle starts and how far it goes, in degrees clockwise in the picture, less than half a turn."""
    one, other = (math.degrees(math.atan2(at.y - vertex.y, at.x - vertex.x)) for at in (first, second))
    sweep = (other - one) % 360
    return (one, sweep) if sweep < 180 else (other, 360 - sweep)


def towards(start: Point, end: Point, far: float) -> Point:
    """The point at this distance from the start, on the way to the end."""
    share = far / distance(start, end)
    return Point(start.x + share * (end.x - start.x), start.y + share * (end.y - start.y))


def distance(one: Point, other: Point) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def to_segment(point: Point, start: Point, end: Point) -> float:
    """The distance of a point from a segment."""
    long = distance(start, end)
    share = ((point.x - start.x) * (end.x - start.x) + (point.y - start.y) * (end.y - start.y)) / long**2
    return distance(point, towards(start, end, min(1.0, max(0.0, share)) * long))


def draw_lines(canvas: Canvas, sketch: Sketch, spots: Mapping[str, Point]) -> list[Path]:
    """The ink of the lines and circles."""
    ink = []
    for line in sketch.lines:
        start, end = spots[line[0]], spots[line[-1]]
        canvas.line(start, end, LINE_PX, INK)
        ink.append(_straight(start, end))
    for centre, on in sketch.circles.items():
        radius = distance(spots[centre], spots[on[0]])
        ink.append(_ring(canvas, spots[centre], radius, 0, 360, LINE_PX))
        canvas.wedge(spots[centre], DOT_PX, 0, 360, INK)
        ink.append(np.array([_pair(spots[centre])]))
    return ink


def draw_marks(canvas: Canvas, sketch: Sketch, spots: Mapping[str, Point]) -> list[Path] | None:
    """The ink of the marks; None where one does not fit."""
    ink: list[Path] = []
    for corner in sketch.right_angles:
        ink += _square(canvas, *(spots[name] for name in corner))
    arcs = dict.fromkeys(sketch.angles, 1)
    arcs |= {corner: 2 + number for number, group in enumerate(sketch.equal_angles) for corner in group}
    for corner, count in arcs.items():
        first, vertex, second = (spots[name] for name in corner)
        start, sweep = opening(first, vertex, second)
        for number in range(count):
            radius = ARC_PX + ARC_STEP_PX * number
            ink.append(_ring(canvas, vertex, radius, start, start + sweep, MARK_PX))
    for number, segments in enumerate(sketch.equal_lengths):
        for one, other in map(tuple, segments):
            ink += _ticks(canvas, spots[one], spots[other], number + 1)
    for number, segments in enumerate(sketch.parallels):
        for segment in segments:
            place = _middle_of_a_piece(sketch, segment, spots)
            if place is None:
                return None
            ink += _heads(canvas, spots[segment[0]], spots[segment[1]], place, number + 1)
    return ink


def _square(canvas: Canvas, first: Point, vertex: Point, second: Point) -> list[Path]:
    along, across = towards(vertex, first, SQUARE_PX), towards(vertex, second, SQUARE_PX)
    corner = Point(along.x + across.x - vertex.x, along.y + across.y - vertex.y)
    return [_stroke(canvas, along, corner), _stroke(canvas, across, corner)]


def _ticks(canvas: Canvas, start: Point, end: Point, count: int) -> list[Path]:
    half = distance(start, end) / 2
    dx, dy = (end.x - start.x) / (2 * half), (end.y - start.y) / (2 * half)
    strokes = []
    for number in range(count):
        at = towards(start, end, half + TICK_STEP_PX * (number - (count - 1) / 2))
        one, other = (Point(at.x - s * dy * TICK_PX, at.y + s * dx * TICK_PX) for s in (1, -1))
        strokes.append(_stroke(canvas, one, other))
    return strokes


def _heads(canvas: Canvas, start: Point, end: Point, middle: Point, count: int) -> list[Path]:
    long = distance(start, end)
    dx, dy = (end.x - start.x) / long, (end.y - start.y) / long
    strokes = []
    for number in range(count):
        shift = TICK_STEP_PX * (number - (count - 1) / 2) + HEAD_PX / 2
        tip = Point(middle.x + dx * shift, middle.y + dy * shift)
        for side in (1, -1):
            tail = Point(tip.x - HEAD_PX * (dx + side * dy), tip.y - HEAD_PX * (dy - side * dx))
            strokes.append(_stroke(canvas, tail, tip))
    return strokes


def _middle_of_a_piece(sketch: Sketch, segment: str, spots: Mapping[str, Point]) -> Point | None:
    """The middle of the longest piece of the segment between its points; None when ticks stand there."""
    line = next(line for line in sketch.lines if set(segment) <= set(line))
    one, other = max(pairwise(line), key=lambda piece: distance(spots[piece[0]], spots[piece[1]]))
    ticked = {frozenset(pair) for group in sketch.equal_lengths for pair in group}
    if frozenset((one, other)) in ticked:
        return None
    return towards(spots[one], spots[other], distance(spots[one], spots[other]) / 2)


def _ring(canvas: Canvas, center: Point, radius: float, start: float, end: float, width: float) -> Path:
    """An arc as a band between two arcs, and the places on it."""
    steps = max(4, math.ceil((end - start) / 4))
    turns = [start + (end - start) * i / steps for i in range(steps + 1)]
    outer = [on_circle(center, radius + width / 2, turn) for turn in turns]
    inner = [on_circle(center, radius - width / 2, turn) for turn in reversed(turns)]
    canvas.polygon([*outer, *inner], INK)
    count = max(2, math.ceil(radius * math.radians(end - start)))
    return np.array([_pair(on_circle(center, radius, start + (end - start) * i / count)) for i in range(count + 1)])


def _stroke(canvas: Canvas, start: Point, end: Point) -> Path:
    canvas.line(start, end, MARK_PX, INK)
    return _straight(start, end)


def _straight(start: Point, end: Point) -> Path:
    shares = np.linspace(0, 1, max(2, math.ceil(distance(start, end))))[:, None]
    return np.asarray((1 - shares) * np.array(_pair(start)) + shares * np.array(_pair(end)))


def _pair(point: Point) -> tuple[float, float]:
    return point.x, point.y
