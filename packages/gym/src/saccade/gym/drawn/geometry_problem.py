"""Geometry problems with a labelled diagram: triangles, parallels, circles, quadrilaterals, with printed values.

Difficulty: below 0.25 the first two problems of each kind, below 0.75 also all but the last, then all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.drawn.geometry_figures import (
    chord,
    crossing,
    cyclic,
    diameter_angle,
    inscribed,
    middle_of_trapezoid,
    parallelogram,
    rectangle,
    rhombus,
    sides_in_x,
    tangent,
    thales,
    transversal,
    zigzag,
)
from saccade.gym.drawn.geometry_marks import Path, distance, draw_lines, draw_marks, opening, to_segment, towards
from saccade.gym.drawn.geometry_sketch import Sketch, in_frame, laid_out, with_capitals
from saccade.gym.drawn.geometry_triangles import (
    altitude,
    angle_sum,
    angles_in_x,
    bisector,
    cosine_law,
    exterior,
    isosceles,
    marked_bisector,
    midsegment,
    parallel_inside,
    pythagoras,
    right_with_angle,
)
from saccade.tasks.drawing import Canvas, on_circle, text_box
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, call, pick, rectangle_target
from saccade.types import SceneObject

Draft = Callable[[Generator], Sketch]

KINDS: Mapping[str, tuple[Draft, ...]] = MappingProxyType(
    {
        "triangle": (angle_sum, pythagoras, isosceles, right_with_angle, cosine_law, angles_in_x),
        "divided_triangle": (altitude, exterior, midsegment, parallel_inside, bisector, marked_bisector),
        "parallels": (transversal, crossing, zigzag),
        "circle": (inscribed, diameter_angle, thales, tangent, chord, cyclic),
        "quadrilateral": (parallelogram, rectangle, rhombus, middle_of_trapezoid, sides_in_x),
    }
)
"""Problems by kind of figure, the easier ones first."""

BORDER_PX = 26
LABEL_PX = 15
CLEAR_PX = 2.0
"""Between a label and anything else."""

NEAREST_PX = 36
"""Between two points."""

APART_PX = 16
"""Between a point and a line that it is not on."""

TOLERANCE = 0.01
LETTERS = ("ABCDEFGH", "PQRSTUVW", "DEFGHJKL", "JKLMNPQR", "RSTUVWXY")
"""Each problem takes its points' names from one of these, in some order; O stays for centres."""

MAX_TRIES = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class GeometryProblem:
    """A drawn problem with everything that is true of it."""

    kind: str
    sketch: Sketch
    spots: Mapping[str, Point]
    """The points in pixels."""
    canvas: Canvas
    labels: Mapping[str, Box]
    """By point, segment or angle: where its letter or value is written."""


def draw_geometry_problem(rng: Generator, difficulty: float) -> Scene:
    """A labelled diagram with a question whose answer needs what is printed in it."""
    problem = draw_problem(rng, difficulty)
    sketch, spots = problem.sketch, problem.spots
    points = " ".join(f"{name}({at.x:.0f},{at.y:.0f})" for name, at in spots.items())
    asked = SceneQuestion(
        question=sketch.question,
        answer=f"{round(sketch.answer, 2):g}",
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=tuple(rectangle_target(_label_name(name), box) for name, box in problem.labels.items()),
        looks=(
            call("read the diagram and the words", "formalize_problem", question=sketch.question),
            call("solve what they say", "solve_geometry", logic_forms="\n".join(sketch.logic_forms), points=points),
        ),
    )
    return Scene(images=(problem.canvas.image,), asked=asked, objects=tuple(_objects(problem)))


def draw_problem(rng: Generator, difficulty: float = 1.0, kind: str | None = None) -> GeometryProblem:
    """A problem, of one of ``KINDS`` if it is named, drawn so that every label has room."""
    chosen = pick(rng, tuple(KINDS)) if kind is None else kind
    drafts = KINDS[chosen]
    count = 2 if difficulty < 0.25 else len(drafts) - 1 if difficulty < 0.75 else len(drafts)
    draft = drafts[int(rng.integers(count))]
    for _ in range(MAX_TRIES):
        letters = pick(rng, LETTERS)
        shuffled = letters if rng.integers(2) else "".join(letters[int(i)] for i in rng.permutation(len(letters)))
        sketch = with_capitals(draft(rng), shuffled)
        spots = laid_out(
            sketch,
            float(rng.uniform(0, 360)) if rng.integers(2) else float(rng.uniform(-12, 12)),
            is_mirrored=bool(rng.integers(2)),
            border_px=BORDER_PX,
            size_px=float(rng.uniform(170, SIZE_PX)),
        )
        problem = _draw_problem(rng, chosen, in_frame(sketch, spots), spots)
        if problem is not None:
            return problem
    raise AssertionError(f"no room for a problem of the kind {chosen} ({draft.__name__})")


def _draw_problem(rng: Generator, kind: str, sketch: Sketch, spots: Mapping[str, Point]) -> GeometryProblem | None:
    """The problem with its labels; None where they do not fit."""
    if not _is_roomy(sketch, spots):
        return None
    canvas = Canvas()
    ink = draw_lines(canvas, sketch, spots)
    marks = draw_marks(canvas, sketch, spots)
    if marks is None:
        return None
    ink += marks
    pieces = [one + other for line in sketch.lines for one, other in pairwise(line)]
    labels: dict[str, Box] = {}
    wanted = [
        *((name, f"{text}°", _inside_angle(spots, name)) for name, text in _degrees(sketch).items()),
        *((name, text, _beside(spots, name)) for name, text in sketch.lengths.items()),
        *((name, name, _around(spots[name])) for name in spots),
    ]
    for name, text, places in wanted:
        order = [places[int(i)] for i in rng.permutation(len(places))] if len(name) > 1 else places
        place = _free_place(text, order, ink, list(labels.values()), spots, pieces, name)
        if place is None:
            return None
        canvas.text(text, place, LABEL_PX)
        labels[name] = text_box(text, place, LABEL_PX)
    return GeometryProblem(kind=kind, sketch=sketch, spots=spots, canvas=canvas, labels=labels)


def _degrees(sketch: Sketch) -> dict[str, str]:
    """Texts inside angles; a sum is put in brackets before the sign of degrees."""
    return {name: f"({text})" if "+" in text or "-" in text else text for name, text in sketch.angles.items()}


def _is_roomy(sketch: Sketch, spots: Mapping[str, Point]) -> bool:
    names = list(spots)
    for i, one in enumerate(names):
        if any(distance(spots[one], spots[other]) < NEAREST_PX for other in names[:i]):
            return False
        for line in sketch.lines:
            if one not in line and to_segment(spots[one], spots[line[0]], spots[line[-1]]) < APART_PX:
                return False
        for centre, on in sketch.circles.items():
            radius = distance(spots[centre], spots[on[0]])
            if one != centre and one not in on and abs(distance(spots[centre], spots[one]) - radius) < APART_PX:
                return False
    return True


def _inside_angle(spots: Mapping[str, Point], corner: str) -> list[Point]:
    first, vertex, second = (spots[name] for name in corner)
    start, sweep = opening(first, vertex, second)
    return [
        on_circle(vertex, radius, start + share * sweep)
        for radius in (30, 34, 38, 43, 48, 54, 60)
        for share in (0.5, 0.4, 0.6)
    ]


def _beside(spots: Mapping[str, Point], segment: str) -> list[Point]:
    one, other = (spots[name] for name in segment)
    long = distance(one, other)
    nx, ny = (one.y - other.y) / long, (other.x - one.x) / long
    places = []
    for share in (0.5, 0.42, 0.58):
        at = towards(one, other, share * long)
        places += [Point(at.x + d * nx, at.y + d * ny) for d in (11, -11, 14, -14, 17, -17, 21, -21)]
    return places


def _around(point: Point) -> list[Point]:
    return [on_circle(point, radius, turn) for radius in (12, 14, 16, 18) for turn in range(0, 360, 15)]


def _free_place(
    text: str,
    places: Sequence[Point],
    ink: Sequence[Path],
    boxes: Sequence[Box],
    spots: Mapping[str, Point],
    pieces: Sequence[str],
    name: str,
) -> Point | None:
    """The first place where the text touches nothing and stands clearly at what it belongs to."""
    covered = np.concatenate(ink)
    for place in places:
        box = text_box(text, place, LABEL_PX)
        room = Box(box.x1 - CLEAR_PX, box.y1 - CLEAR_PX, box.x2 + CLEAR_PX, box.y2 + CLEAR_PX)
        if room.x1 < 1 or room.y1 < 1 or room.x2 > SIZE_PX - 1 or room.y2 > SIZE_PX - 1:
            continue
        inside = (covered > (room.x1, room.y1)).all(axis=1) & (covered < (room.x2, room.y2)).all(axis=1)
        if inside.any() or any(_overlap(room, other) for other in boxes):
            continue
        if _is_clear(place, spots, pieces, name):
            return place
    return None


def _is_clear(place: Point, spots: Mapping[str, Point], pieces: Sequence[str], name: str) -> bool:
    """Whether a letter is nearer to its point than to others, a length to its segment."""
    if len(name) == 1:
        own = distance(place, spots[name])
        return all(distance(place, at) > 1.4 * own for other, at in spots.items() if other != name)
    if len(name) == 3:
        return True
    own = to_segment(place, spots[name[0]], spots[name[1]])
    others = (piece for piece in pieces if set(piece) != set(name))
    return all(to_segment(place, *(spots[end] for end in piece)) > 1.4 * own for piece in others)


def _overlap(room: Box, other: Box) -> bool:
    aside = LABEL_PX / 2
    return (
        room.x1 < other.x2 + aside and other.x1 - aside < room.x2 and room.y1 < other.y2 + 1 and other.y1 - 1 < room.y2
    )


def _label_name(name: str) -> str:
    return (f"point {name}", f"length of {name}", f"angle {name}")[len(name) - 1]


def _objects(problem: GeometryProblem) -> list[SceneObject]:
    texts = {**problem.sketch.lengths, **problem.sketch.angles}
    return [
        SceneObject(name=_label_name(name), box=box, attributes={"text": texts.get(name, name)})
        for name, box in problem.labels.items()
    ]
