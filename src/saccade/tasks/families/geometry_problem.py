"""Geometry problems with a labelled diagram: triangles, parallels, circles, quadrilaterals, with printed values.

Difficulty: below 0.25 the first two problems of each kind, below 0.75 also all but the last, then all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from saccade.geometry import Box, Point
from saccade.tasks.drawing import Canvas, on_circle, text_box
from saccade.tasks.families.geometry_kinds import KINDS
from saccade.tasks.families.geometry_sketch import Sketch, in_frame, laid_out, named
from saccade.tasks.palette import INK
from saccade.tasks.scene import SIZE_PX, Asked, Scene, call, pick, rectangle_target
from saccade.types import SceneObject

BORDER_PX = 26
LINE_PX = 2
MARK_PX = 1.4
"""Width of marks."""

ARC_PX, ARC_STEP_PX = 17, 4
SQUARE_PX = 9
TICK_PX, TICK_STEP_PX = 5, 5
HEAD_PX = 5
"""Of an arrow head, along the line and across it."""

DOT_PX = 2.6
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
Path = NDArray[np.float64]
"""Places that ink covers, (count, 2)."""


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
    asked = Asked(
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
        sketch = named(draft(rng), shuffled)
        spots = laid_out(
            sketch,
            float(rng.uniform(0, 360)) if rng.integers(2) else float(rng.uniform(-12, 12)),
            is_mirrored=bool(rng.integers(2)),
            border_px=BORDER_PX,
            size_px=float(rng.uniform(170, SIZE_PX)),
        )
        problem = _drawn(rng, chosen, in_frame(sketch, spots), spots)
        if problem is not None:
            return problem
    raise AssertionError(f"no room for a problem of the kind {chosen} ({draft.__name__})")


def _drawn(rng: Generator, kind: str, sketch: Sketch, spots: Mapping[str, Point]) -> GeometryProblem | None:
    """The problem with its labels; None where they do not fit."""
    if not _is_roomy(sketch, spots):
        return None
    canvas = Canvas()
    ink = _draw_lines(canvas, sketch, spots)
    marks = _draw_marks(canvas, sketch, spots)
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
        if any(_distance(spots[one], spots[other]) < NEAREST_PX for other in names[:i]):
            return False
        for line in sketch.lines:
            if one not in line and _to_segment(spots[one], spots[line[0]], spots[line[-1]]) < APART_PX:
                return False
        for centre, on in sketch.circles.items():
            radius = _distance(spots[centre], spots[on[0]])
            if one != centre and one not in on and abs(_distance(spots[centre], spots[one]) - radius) < APART_PX:
                return False
    return True


def _draw_lines(canvas: Canvas, sketch: Sketch, spots: Mapping[str, Point]) -> list[Path]:
    ink = []
    for line in sketch.lines:
        start, end = spots[line[0]], spots[line[-1]]
        canvas.line(start, end, LINE_PX, INK)
        ink.append(_straight(start, end))
    for centre, on in sketch.circles.items():
        radius = _distance(spots[centre], spots[on[0]])
        ink.append(_ring(canvas, spots[centre], radius, 0, 360, LINE_PX))
        canvas.wedge(spots[centre], DOT_PX, 0, 360, INK)
        ink.append(np.array([_pair(spots[centre])]))
    return ink


def _draw_marks(canvas: Canvas, sketch: Sketch, spots: Mapping[str, Point]) -> list[Path] | None:
    """What the marks cover; None where one does not fit."""
    ink: list[Path] = []
    for corner in sketch.right_angles:
        ink += _square(canvas, *(spots[name] for name in corner))
    arcs = dict.fromkeys(sketch.angles, 1)
    arcs |= {corner: 2 + number for number, group in enumerate(sketch.equal_angles) for corner in group}
    for corner, count in arcs.items():
        first, vertex, second = (spots[name] for name in corner)
        start, sweep = _opening(first, vertex, second)
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
    along, across = _towards(vertex, first, SQUARE_PX), _towards(vertex, second, SQUARE_PX)
    corner = Point(along.x + across.x - vertex.x, along.y + across.y - vertex.y)
    return [_stroke(canvas, along, corner), _stroke(canvas, across, corner)]


def _ticks(canvas: Canvas, start: Point, end: Point, count: int) -> list[Path]:
    half = _distance(start, end) / 2
    dx, dy = (end.x - start.x) / (2 * half), (end.y - start.y) / (2 * half)
    strokes = []
    for number in range(count):
        at = _towards(start, end, half + TICK_STEP_PX * (number - (count - 1) / 2))
        one, other = (Point(at.x - s * dy * TICK_PX, at.y + s * dx * TICK_PX) for s in (1, -1))
        strokes.append(_stroke(canvas, one, other))
    return strokes


def _heads(canvas: Canvas, start: Point, end: Point, middle: Point, count: int) -> list[Path]:
    long = _distance(start, end)
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
    one, other = max(pairwise(line), key=lambda piece: _distance(spots[piece[0]], spots[piece[1]]))
    ticked = {frozenset(pair) for group in sketch.equal_lengths for pair in group}
    if frozenset((one, other)) in ticked:
        return None
    return _towards(spots[one], spots[other], _distance(spots[one], spots[other]) / 2)


def _inside_angle(spots: Mapping[str, Point], corner: str) -> list[Point]:
    first, vertex, second = (spots[name] for name in corner)
    start, sweep = _opening(first, vertex, second)
    return [
        on_circle(vertex, radius, start + share * sweep)
        for radius in (30, 34, 38, 43, 48, 54, 60)
        for share in (0.5, 0.4, 0.6)
    ]


def _beside(spots: Mapping[str, Point], segment: str) -> list[Point]:
    one, other = (spots[name] for name in segment)
    long = _distance(one, other)
    nx, ny = (one.y - other.y) / long, (other.x - one.x) / long
    places = []
    for share in (0.5, 0.42, 0.58):
        at = _towards(one, other, share * long)
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
        own = _distance(place, spots[name])
        return all(_distance(place, at) > 1.4 * own for other, at in spots.items() if other != name)
    if len(name) == 3:
        return True
    own = _to_segment(place, spots[name[0]], spots[name[1]])
    others = (piece for piece in pieces if set(piece) != set(name))
    return all(_to_segment(place, *(spots[end] for end in piece)) > 1.4 * own for piece in others)


def _overlap(room: Box, other: Box) -> bool:
    aside = LABEL_PX / 2
    return (
        room.x1 < other.x2 + aside and other.x1 - aside < room.x2 and room.y1 < other.y2 + 1 and other.y1 - 1 < room.y2
    )


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
    shares = np.linspace(0, 1, max(2, math.ceil(_distance(start, end))))[:, None]
    return np.asarray((1 - shares) * np.array(_pair(start)) + shares * np.array(_pair(end)))


def _opening(first: Point, vertex: Point, second: Point) -> tuple[float, float]:
    """Where the angle starts and how far it goes, in degrees clockwise in the picture, less than half a turn."""
    one, other = (math.degrees(math.atan2(at.y - vertex.y, at.x - vertex.x)) for at in (first, second))
    sweep = (other - one) % 360
    return (one, sweep) if sweep < 180 else (other, 360 - sweep)


def _pair(point: Point) -> tuple[float, float]:
    return point.x, point.y


def _towards(start: Point, end: Point, far: float) -> Point:
    share = far / _distance(start, end)
    return Point(start.x + share * (end.x - start.x), start.y + share * (end.y - start.y))


def _distance(one: Point, other: Point) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def _to_segment(point: Point, start: Point, end: Point) -> float:
    long = _distance(start, end)
    share = ((point.x - start.x) * (end.x - start.x) + (point.y - start.y) * (end.y - start.y)) / long**2
    return _distance(point, _towards(start, end, min(1.0, max(0.0, share)) * long))


def _label_name(name: str) -> str:
    return (f"point {name}", f"length of {name}", f"angle {name}")[len(name) - 1]


def _objects(problem: GeometryProblem) -> list[SceneObject]:
    texts = {**problem.sketch.lengths, **problem.sketch.angles}
    return [
        SceneObject(name=_label_name(name), box=box, attributes={"text": texts.get(name, name)})
        for name, box in problem.labels.items()
    ]
