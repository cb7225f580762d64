"""Building blocks of constraints: residuals that are 0 where a relation holds, for a batch of figures at once.

Residuals have no unit: lengths are compared by their ratio or by the problem's size, angles in units of 60 degrees.
Inequalities (a point between two others, corners in order) are residuals that are 0 inside.
"""

from collections.abc import Callable, Sequence

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.terms import Call, Node, Number, walk
from saccade.readers.geometry.values import Array, FigureBatch, cross, dimension_of, dot, names_of, norm, value_of

Reading = Callable[[FigureBatch], list[Array]]
Line = tuple[str, str]

BETWEEN = 0.004
"""How near to an end a point between two others may be, as a share of their distance."""

ORIENTED = 5e-4
"""The least area of a polygon whose orientation is said, as a share of the square of its perimeter."""

_OUT_OF_REACH = 1e6


def side_pairs(names: Sequence[str]) -> list[Line]:
    """The sides of a polygon, each from corner to next corner."""
    return list(zip(names, (*names[1:], names[0])))


def same_length(first: Line, second: Line) -> Reading:
    """Two lines are equally long."""
    return lambda state: [np.log(state.distance(*first) / state.distance(*second))]


def parallel(first: Line, second: Line) -> Reading:
    """Two lines are parallel."""
    return lambda state: [state.sine(first, second)]


def perpendicular(first: Line, second: Line) -> Reading:
    """Two lines are perpendicular."""
    return lambda state: [state.cosine(first, second)]


def between(point: str, line: Line) -> Reading:
    """A point is on a segment, not too near to its ends; no demand on an end itself."""
    if point in line:
        return lambda state: [np.zeros(state.choice.shape)] * 2

    def read(state: FigureBatch) -> list[Array]:
        along = state.vector(*line)
        share = dot(state.vector(line[0], point), along) / dot(along, along)
        outside = np.maximum(0, BETWEEN - share) + np.maximum(0, share - 1 + BETWEEN)
        return [state.height(point, line) / norm(along), outside]

    return read


def on_line(point: str, line: Line) -> Reading:
    """A point is on a line, anywhere."""
    return lambda state: [state.height(point, line) / state.distance(*line)]


def on_circle(point: str, centre: str) -> Reading:
    """A point is on the circle with this centre."""
    return lambda state: [(state.distance(point, centre) - state.radii[centre]) / state.size]


def middle_of(point: str, line: Line) -> Reading:
    """A point is the middle of a segment."""

    def read(state: FigureBatch) -> list[Array]:
        (x, y), (ax, ay), (bx, by) = (state.points[name] for name in (point, *line))
        return [(x - (ax + bx) / 2) / state.size, (y - (ay + by) / 2) / state.size]

    return read


def all_of(*parts: Reading) -> Reading:
    """All parts hold."""
    return lambda state: [residual for part in parts for residual in part(state)]


def equal(left: Node, right: Node, figure: Figure) -> Reading:
    """Two expressions have the same value."""
    sides = [names_of(node.args[0]) for node in (left, right) if _is_length(node) and isinstance(node, Call)]
    if len(sides) == 2:
        return same_length((sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]))
    dimension = dimension_of(left, figure.symbols) or dimension_of(right, figure.symbols)
    numbers = [abs(float(node.value)) for side in (left, right) for node in walk(side) if isinstance(node, Number)]
    scales = {"length": figure.size, "angle": 60.0, "area": figure.size**2, None: max([1.0, *numbers])}
    scale = scales[dimension]

    def read(state: FigureBatch) -> list[Array]:
        gap = (value_of(left, state) - value_of(right, state)) / scale
        return [np.nan_to_num(gap, nan=_OUT_OF_REACH, posinf=_OUT_OF_REACH, neginf=-_OUT_OF_REACH)]

    return read


def _is_length(node: Node) -> bool:
    if not isinstance(node, Call) or node.name != "LengthOf":
        return False
    shape = node.args[0]
    return isinstance(shape, Call) and shape.name == "Line"


def convex(names: tuple[str, ...]) -> Reading:
    """The corners of a polygon turn one way all round."""

    def read(state: FigureBatch) -> list[Array]:
        way = np.sign(state.signed_area(names))
        turns = []
        for before, here, after in zip((names[-1], *names), names, (*names[1:], names[0])):
            a, b = state.vector(before, here), state.vector(here, after)
            turns.append(np.maximum(0, 1e-3 - way * cross(a, b) / (norm(a) * norm(b))))
        return turns

    return read


def counterclockwise(names: tuple[str, ...]) -> Reading:
    """The corners go round counterclockwise."""

    def read(state: FigureBatch) -> list[Array]:
        share = state.signed_area(names) / state.perimeter(names) ** 2
        return [np.maximum(0, ORIENTED - share) * 20]

    return read
