"""What relations between points, lines, circles and polygons demand of a figure."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from saccade.tools.geometry.figure import Figure
from saccade.tools.geometry.residuals import (
    Line,
    Reading,
    all_of,
    between,
    equal,
    middle_of,
    on_circle,
    on_line,
    parallel,
    perpendicular,
    same_length,
    side_pairs,
)
from saccade.tools.geometry.state import Array, State, cross, dot, norm
from saccade.tools.geometry.terms import Call, Name, Node
from saccade.tools.geometry.values import names_of
from saccade.tools.geometry.vocabulary import CORNERS, unwrapped


class MisfitError(Exception):
    """The points of a relation do not fit together."""


def _line(node: Node) -> Line:
    first, second = names_of(node)
    return first, second


def _point(node: Node) -> str:
    assert isinstance(node, Name)
    return node.text


def _third(line: Line, triangle: Sequence[str]) -> str:
    rest = [name for name in triangle if name not in line]
    if len(triangle) != 3 or len(rest) != 1:
        raise MisfitError("needs a line that is a side of the triangle")
    return rest[0]


def _apex(line: Line, triangle: Sequence[str]) -> tuple[str, str, Line]:
    """The end of a line that is a corner of the triangle, its other end, and the side opposite to the corner."""
    if len(triangle) != 3 or not set(line) & set(triangle):
        raise MisfitError("needs a triangle and a line from one of its corners")
    apex, foot = line if line[0] in triangle else line[::-1]
    first, second = (name for name in triangle if name != apex)
    return apex, foot, (first, second)


def _tangent(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (centre,) = _line(args[0]), names_of(args[1])
    on_line = [
        _point(said.args[0])
        for said in figure.given
        if said.name == "PointLiesOnLine" and set(_line(said.args[1])) == set(line)
    ]
    for touching in (*line, *on_line):
        if touching in figure.members.get(centre, ()):
            return [perpendicular((centre, touching), line)]
    return [lambda state: [(np.abs(state.height(centre, line)) - state.radii[centre]) / state.size]]


def _touching(args: Sequence[Node]) -> tuple[tuple[str, ...], str, bool]:
    """A polygon, a circle and whether the circle is the inner one."""
    inner, outer = (unwrapped(arg) for arg in args)
    is_inner = isinstance(inner, Call) and inner.name == "Circle"
    circle, polygon = (inner, outer) if is_inner else (outer, inner)
    if not (isinstance(circle, Call) and isinstance(polygon, Call) and circle.name == "Circle"):
        raise MisfitError("needs a polygon and a circle")
    if polygon.name not in CORNERS:
        raise MisfitError("needs a polygon and a circle")
    return names_of(polygon), names_of(circle)[0], is_inner


def _inscribed(args: Sequence[Node], figure: Figure) -> list[Reading]:
    corners, centre, is_inner = _touching(args)
    if not is_inner:
        return [all_of(*(on_circle(corner, centre) for corner in corners))]

    def read(state: State) -> list[Array]:
        way = np.sign(state.signed_area(corners))
        return [(way * state.height(centre, side) - state.radii[centre]) / state.size for side in side_pairs(corners)]

    return [read]


def _bisects(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (first, vertex, second) = _line(args[0]), names_of(args[1])
    if vertex not in line:
        raise MisfitError("needs a line from the angle's vertex")
    end = line[1] if line[0] == vertex else line[0]

    def read(state: State) -> list[Array]:
        a, b, along = (state.vector(vertex, name) for name in (first, second, end))
        middle = a[0] / norm(a) + b[0] / norm(b), a[1] / norm(a) + b[1] / norm(b)
        scale = norm(middle) * norm(along)
        return [cross(middle, along) / scale, np.maximum(0, -dot(middle, along) / scale)]

    return [read]


def _same_form(args: Sequence[Node], figure: Figure, *, is_congruent: bool) -> list[Reading]:
    first, second = (unwrapped(arg) for arg in args)
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    if first.name in ("Angle", "Arc"):
        return [equal(Call("MeasureOf", (first,)), Call("MeasureOf", (second,)), figure)]
    if first.name == "Circle":
        return [equal(Call("RadiusOf", (first,)), Call("RadiusOf", (second,)), figure)]
    ones, others = names_of(first), names_of(second)
    if len(ones) != len(others) or len(ones) < 2:
        raise MisfitError("needs two shapes with the same number of points, in the order in which they correspond")
    pairs = list(combinations(range(len(ones)), 2))

    def read(state: State) -> list[Array]:
        logs = [np.log(state.distance(ones[i], ones[j]) / state.distance(others[i], others[j])) for i, j in pairs]
        return logs if is_congruent else [log - logs[0] for log in logs[1:]]

    return [read]


def _midsegment(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, names = _line(args[0]), names_of(args[1])
    pairs = side_pairs(names)
    if len(names) == 3:
        chosen = [(a, b) for a in pairs for b in pairs if a != b]
        return [all_of(middle_of(line[0], a), middle_of(line[1], b)) for a, b in chosen]
    if len(names) != 4:
        raise MisfitError("needs a triangle or a trapezoid")
    ways = [(0, 2), (2, 0), (1, 3), (3, 1)]
    return [
        all_of(
            middle_of(line[0], pairs[i]), middle_of(line[1], pairs[j]), parallel(pairs[(i + 1) % 4], pairs[(i + 3) % 4])
        )
        for i, j in ways
    ]


def _median(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, names = _line(args[0]), names_of(args[1])
    if len(names) == 4:
        return _midsegment(args, figure)
    _, foot, opposite = _apex(line, names)
    return [middle_of(foot, opposite)]


def _altitude(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, names = _line(args[0]), names_of(args[1])
    if len(names) == 4:
        top, base = (names[3], names[0]), (names[1], names[2])
        return [all_of(on_line(line[0], top), on_line(line[1], base), perpendicular(line, base))]
    _, foot, opposite = _apex(line, names)
    return [all_of(on_line(foot, opposite), perpendicular(line, opposite))]


def _base(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, shape = _line(args[0]), unwrapped(args[1])
    names = names_of(shape)
    if len(names) == 4:
        return [parallel(line, _opposite(line, names))]
    apex = _third(line, names)
    is_isosceles = any(said.name == "Isosceles" and said.args[0] == shape for said in figure.given)
    return [same_length((apex, line[0]), (apex, line[1]))] if is_isosceles else []


def _leg(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, shape = _line(args[0]), unwrapped(args[1])
    names = names_of(shape)
    if len(names) == 4:
        opposite = _opposite(line, names)
        first, second = (side for side in side_pairs(names) if set(side) not in (set(line), set(opposite)))
        return [parallel(first, second)]
    third = _third(line, names)
    words = {said.name for said in figure.given if said.args and said.args[0] == shape}
    if "Right" in words:
        return [perpendicular((corner, third), line) for corner in line]
    if "Isosceles" in words:
        return [same_length(line, (corner, third)) for corner in line]
    return []


def _opposite(line: Line, names: Sequence[str]) -> Line:
    pairs = side_pairs(names)
    for index, side in enumerate(pairs):
        if set(side) == set(line):
            return pairs[(index + 2) % 4]
    raise MisfitError("needs a line that is a side of the quadrilateral")


def _hypotenuse(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line = _line(args[0])
    corner = _third(line, names_of(args[1]))
    return [perpendicular((corner, line[0]), (corner, line[1]))]


def _radius(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (centre,) = _line(args[0]), names_of(args[1])
    if centre not in line:
        raise MisfitError("needs a line from the centre of the circle")
    return [on_circle(line[0] if line[1] == centre else line[1], centre)]


def _incenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = _point(args[0]), names_of(args[1])

    def read(state: State) -> list[Array]:
        way = np.sign(state.signed_area(corners))
        heights = [way * state.height(point, side) / state.size for side in side_pairs(corners)]
        return [height - heights[0] for height in heights[1:]] + [np.maximum(0, 1e-4 - heights[0])]

    return [read]


def _centroid(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = _point(args[0]), names_of(args[1])

    def read(state: State) -> list[Array]:
        middles = [np.mean([state.points[name][axis] for name in corners], axis=0) for axis in (0, 1)]
        return [(state.points[point][axis] - middles[axis]) / state.size for axis in (0, 1)]

    return [read]


def _circumcenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = _point(args[0]), names_of(args[1])
    return [all_of(*(same_length((point, corners[0]), (point, corner)) for corner in corners[1:]))]


def _orthocenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, (a, b, c) = _point(args[0]), names_of(args[1])

    def read(state: State) -> list[Array]:
        ways = (((a, point), (b, c)), ((b, point), (c, a)))
        return [dot(state.vector(*one), state.vector(*other)) / state.size**2 for one, other in ways]

    return [read]


def _crossing(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point = _point(args[2])
    return [all_of(between(point, _line(args[0])), between(point, _line(args[1])))]


def _right(names: Sequence[str]) -> list[Reading]:
    first, vertex, second = names
    return [perpendicular((vertex, first), (vertex, second))]


RELATIONS: Mapping[str, Callable[[Sequence[Node], Figure], list[Reading]]] = {
    "PointLiesOnLine": lambda args, _: [between(_point(args[0]), _line(args[1]))],
    "PointLiesOnCircle": lambda args, _: [on_circle(_point(args[0]), names_of(args[1])[0])],
    "Parallel": lambda args, _: [parallel(_line(args[0]), _line(args[1]))],
    "Perpendicular": lambda args, _: [perpendicular(_line(args[0]), _line(args[1]))],
    "RightAngle": lambda args, _: _right(names_of(args[0])),
    "IntersectAt": _crossing,
    "BisectsAngle": _bisects,
    "Congruent": lambda args, figure: _same_form(args, figure, is_congruent=True),
    "Similar": lambda args, figure: _same_form(args, figure, is_congruent=False),
    "Tangent": _tangent,
    "InscribedIn": _inscribed,
    "CircumscribedTo": lambda args, figure: _inscribed(args[::-1], figure),
    "IsMidpointOf": lambda args, _: [middle_of(_point(args[0]), _line(args[1]))],
    "IsCentroidOf": _centroid,
    "IsIncenterOf": _incenter,
    "IsCircumcenterOf": _circumcenter,
    "IsOrthocenterOf": _orthocenter,
    "IsRadiusOf": _radius,
    "IsDiameterOf": lambda args, _: [
        all_of(middle_of(names_of(args[1])[0], _line(args[0])), on_circle(names_of(args[0])[0], names_of(args[1])[0]))
    ],
    "IsChordOf": lambda args, _: [all_of(*(on_circle(name, names_of(args[1])[0]) for name in _line(args[0])))],
    "IsMidsegmentOf": _midsegment,
    "IsMedianOf": _median,
    "IsAltitudeOf": _altitude,
    "IsPerpendicularBisectorOf": lambda args, _: [
        lambda state: [
            np.log(state.distance(name, names_of(args[1])[0]) / state.distance(name, names_of(args[1])[1]))
            for name in names_of(args[0])
        ]
    ],
    "IsHypotenuseOf": _hypotenuse,
    "IsBaseOf": _base,
    "IsLegOf": _leg,
}
