"""Angles: one to be measured in a triangle or at a crossing, or the third of a triangle whose other two are written.

Difficulty of ``geometry_angle``: angles are multiples of 30 degrees below 0.25, of 10 below 0.75, then of 5; the
shortest arm is at least 96, 76 and 56 px long.

Difficulty of ``triangle_angles``: angles are 30 and more in steps of 20 below 0.25, of 10 up to 0.5, and of 5 above.
One tool reads them, a solver works out the third.
"""

import math
from collections.abc import Sequence

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import COLOURS, INK, Canvas, on_circle
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, call, knob, pick_several, place_of, target_of
from saccade.types import ExpertTurn

LINE_PX = 2
LABEL_SIZE_PX = 15

# An angle to be measured (``geometry_angle``).
MARK_RADIUS_PX = 22
LABEL_DISTANCE_PX = 13
BORDER_PX = 24
"""Room for the labels around a figure."""

LONGEST_PX = 150
MARK = COLOURS["yellow"]
CORNERS = ("A", "B", "C")

# Angles that are written (``triangle_angles``).
LEAST_DEGREES = 30
RADIUS_PX = 100
AWAY_PX = 14
"""From a corner to the middle of its letter."""

CLEAR_PX = 16
"""From the middle of a written angle to the lines beside it."""

LOGIC_FORMS = (
    "Triangle(A,B,C), Equals(MeasureOf(Angle(C,A,B)),{first}), Equals(MeasureOf(Angle(A,B,C)),{second}), "
    "Find(MeasureOf(Angle(B,C,A)))"
)
"""The problem in the language of the geometry solver."""


def draw_geometry_angle(rng: Generator, difficulty: float) -> Scene:
    """A triangle or a crossing, with the angle asked for marked in yellow."""
    draw = _draw_triangle if rng.integers(2) else _draw_crossing
    step = 30 if difficulty < 0.25 else 10 if difficulty < 0.75 else 5
    return draw(rng, step, knob(difficulty, 96, 76, 56))


def _draw_triangle(rng: Generator, step: int, shortest: float) -> Scene:
    names = pick_several(rng, CORNERS, 3)
    while True:
        degrees = _multiple(rng, step, 30, 150)
        turn = float(rng.integers(360))
        first = on_circle(Point(0, 0), float(rng.uniform(shortest, LONGEST_PX)), turn)
        second = on_circle(Point(0, 0), float(rng.uniform(shortest, LONGEST_PX)), turn + degrees)
        points = _centred(rng, [Point(0, 0), first, second])
        if points:
            break
    canvas = Canvas()
    corner, first, second = points
    marked = canvas.wedge(corner, MARK_RADIUS_PX, turn, turn + degrees, MARK)
    for start, end in ((corner, first), (corner, second), (first, second)):
        canvas.line(start, end, LINE_PX, INK)
    middle = Point(sum(p.x for p in points) / 3, sum(p.y for p in points) / 3)
    for name, point in zip(names, points):
        canvas.text(name, _away(point, middle), LABEL_SIZE_PX)
    asked = SceneQuestion(
        question=f"What is the angle at {names[0]} in degrees, a multiple of {step}?",
        answer=str(degrees),
        answer_kind="integer",
        targets=(target_of(f"angle at {names[0]}", marked),),
        looks=_measure_arms(corner, first, second),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _draw_crossing(rng: Generator, step: int, shortest: float) -> Scene:
    degrees = _multiple(rng, step, max(step, 20), 90)
    turn = float(rng.integers(360))
    lengths = rng.uniform(shortest, SIZE_PX / 2 - BORDER_PX, size=4)
    slack = SIZE_PX / 2 - BORDER_PX - float(lengths.max())
    shift_x, shift_y = (float(shift) for shift in rng.uniform(-slack, slack, size=2))
    center = Point(round(SIZE_PX / 2 + shift_x), round(SIZE_PX / 2 + shift_y))
    directions = (turn, turn + degrees, turn + 180, turn + 180 + degrees)
    ends = [on_circle(center, float(length), angle) for length, angle in zip(lengths, directions)]
    canvas = Canvas()
    marked = canvas.wedge(center, MARK_RADIUS_PX, turn, turn + degrees, MARK)
    canvas.line(ends[0], ends[2], LINE_PX, INK)
    canvas.line(ends[1], ends[3], LINE_PX, INK)
    asked = SceneQuestion(
        question=f"At which angle do the lines cross, in degrees, a multiple of {step} up to 90?",
        answer=str(degrees),
        answer_kind="integer",
        targets=(target_of("angle of the lines", marked),),
        looks=_measure_arms(center, ends[0], ends[1]),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _multiple(rng: Generator, step: int, least: int, most: int) -> int:
    """A multiple of the step within the limits."""
    return step * int(rng.integers(-(-least // step), most // step + 1))


def _centred(rng: Generator, points: list[Point]) -> list[Point]:
    """The points moved to a random place inside the borders; none when they do not fit there."""
    left, right = min(p.x for p in points), max(p.x for p in points)
    top, bottom = min(p.y for p in points), max(p.y for p in points)
    room = SIZE_PX - 2 * BORDER_PX
    if right - left > room or bottom - top > room:
        return []
    shift_x = BORDER_PX - left + float(rng.uniform(0, room - (right - left)))
    shift_y = BORDER_PX - top + float(rng.uniform(0, room - (bottom - top)))
    return [Point(p.x + shift_x, p.y + shift_y) for p in points]


def _away(point: Point, middle: Point) -> Point:
    """Where to write a corner's name: outside, in line with the middle."""
    dx, dy = point.x - middle.x, point.y - middle.y
    stretch = LABEL_DISTANCE_PX / (dx * dx + dy * dy) ** 0.5
    return Point(point.x + dx * stretch, point.y + dy * stretch)


def _measure_arms(corner: Point, first: Point, second: Point) -> tuple[ExpertTurn, ExpertTurn]:
    start = [round(corner.x), round(corner.y)]
    return (
        call(f"one arm {place_of(first)}", "measure", start=start, end=[round(first.x), round(first.y)]),
        call(f"other arm {place_of(second)}", "measure", start=start, end=[round(second.x), round(second.y)]),
    )


def draw_triangle_angles(rng: Generator, difficulty: float) -> Scene:
    """A triangle A B C on a circle with the angles that the question tells."""
    step = 20 if difficulty < 0.25 else 10 if difficulty <= 0.5 else 5
    allowed = range(LEAST_DEGREES, 180 - 2 * LEAST_DEGREES + 1, step)
    while True:
        first, second = (allowed[int(place)] for place in rng.integers(len(allowed), size=2))
        if 180 - first - second >= LEAST_DEGREES:
            break
    # An inscribed angle is half of the arc that it looks at.
    turn = float(rng.integers(360))
    middle = Point(SIZE_PX / 2, SIZE_PX / 2)
    arcs = (turn, turn + 2 * (180 - first - second), turn + 2 * (180 - second))
    corners = [on_circle(middle, RADIUS_PX, at) for at in arcs]
    canvas = Canvas()
    covered = [canvas.line(one, other, LINE_PX, INK) for one, other in zip(corners, (*corners[1:], corners[0]))]
    for name, corner in zip("ABC", corners):
        canvas.text(name, _towards(middle, corner, RADIUS_PX + AWAY_PX), LABEL_SIZE_PX)
    for degrees, corner, others in ((first, corners[0], corners[1:]), (second, corners[1], corners[::2])):
        _write_inside(canvas, degrees, corner, others)
    asked = SceneQuestion(
        question="How many degrees has angle C of triangle ABC?",
        answer=str(180 - first - second),
        answer_kind="integer",
        targets=(target_of("triangle", covered[0] | covered[1] | covered[2]),),
        looks=(
            call("read angles", "image_cdl"),
            call(f"{first} {second}", "solve_geometry", logic_forms=LOGIC_FORMS.format(first=first, second=second)),
        ),
        conclusion=f"{first} {second} {180 - first - second}",
    )
    return Scene(images=(canvas.image,), asked=asked)


def _write_inside(canvas: Canvas, degrees: int, corner: Point, others: Sequence[Point]) -> None:
    """An angle's size on its bisector, as near to the corner as it clears both sides."""
    ends = [_towards(corner, other, 1) for other in others]
    inwards = Point((ends[0].x + ends[1].x) / 2, (ends[0].y + ends[1].y) / 2)
    canvas.text(f"{degrees}°", _towards(corner, inwards, CLEAR_PX / math.sin(math.radians(degrees / 2))), LABEL_SIZE_PX)


def _towards(start: Point, end: Point, away_px: float) -> Point:
    length = math.hypot(end.x - start.x, end.y - start.y)
    return Point(start.x + (end.x - start.x) / length * away_px, start.y + (end.y - start.y) / length * away_px)
