"""Triangles of which two angles are told: how large is the third? The question alone decides; a solver works it out.

Difficulty: angles are multiples of 20 below 0.25, of 10 up to 0.5, and of 5 above.
"""

import math

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import Canvas, on_circle
from saccade.tasks.palette import INK
from saccade.tasks.scene import SIZE_PX, Asked, Scene, call, target_of

LEAST_DEGREES = 20
RADIUS_PX = 96
LABEL_PX = 14
LINE_PX = 3

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
        away = math.hypot(corner.x - middle.x, corner.y - middle.y)
        outside = (RADIUS_PX + LABEL_PX) / away
        place = Point(middle.x + (corner.x - middle.x) * outside, middle.y + (corner.y - middle.y) * outside)
        canvas.text(name, place, LABEL_PX)
    asked = Asked(
        question=f"In triangle ABC angle A is {first} and angle B is {second}. How many degrees has angle C?",
        answer=str(180 - first - second),
        answer_kind="integer",
        targets=(target_of("triangle", covered[0] | covered[1] | covered[2]),),
        looks=(
            call(
                f"solve {first} {second}",
                "solve_geometry",
                logic_forms=LOGIC_FORMS.format(first=first, second=second),
            ),
        ),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)
