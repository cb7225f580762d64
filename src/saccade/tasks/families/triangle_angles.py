"""Triangles with two angles written into them: how large is the third? One tool reads them, a solver works it out.

Difficulty: angles are 30 and more in steps of 20 below 0.25, of 10 up to 0.5, and of 5 above.
"""

import math
from collections.abc import Sequence

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import Canvas, on_circle
from saccade.tasks.palette import INK
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, call, target_of

LEAST_DEGREES = 30
RADIUS_PX = 100
LABEL_PX = 15
AWAY_PX = 14
"""From a corner to the middle of its letter."""
CLEAR_PX = 16
"""From the middle of a written angle to the lines beside it."""
LINE_PX = 2

LOGIC_FORMS = (
    "Triangle(A,B,C), Equals(MeasureOf(Angle(C,A,B)),{first}), Equals(MeasureOf(Angle(A,B,C)),{second}), "
    "Find(MeasureOf(Angle(B,C,A)))"
)
"""The problem in the language of the geometry solver."""


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
        canvas.text(name, _towards(middle, corner, RADIUS_PX + AWAY_PX), LABEL_PX)
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
    canvas.text(f"{degrees}°", _towards(corner, inwards, CLEAR_PX / math.sin(math.radians(degrees / 2))), LABEL_PX)


def _towards(start: Point, end: Point, away_px: float) -> Point:
    length = math.hypot(end.x - start.x, end.y - start.y)
    return Point(start.x + (end.x - start.x) / length * away_px, start.y + (end.y - start.y) / length * away_px)
