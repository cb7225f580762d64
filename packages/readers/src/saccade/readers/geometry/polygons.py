"""Constraints of polygons: kinds (kite, regular, ...), lines (medians, altitudes, bases, legs) and centres."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.residuals import (
    Line,
    Reading,
    all_of,
    convex,
    counterclockwise,
    middle_of,
    on_line,
    parallel,
    perpendicular,
    same_length,
    side_pairs,
)
from saccade.readers.geometry.terms import Name, Node
from saccade.readers.geometry.values import Array, FigureBatch, dot, names_of
from saccade.readers.geometry.vocabulary import unwrapped


def _parallelogram(names: tuple[str, ...]) -> Reading:
    def read(state: FigureBatch) -> list[Array]:
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = (state.points[name] for name in names)
        return [(ax - bx + cx - dx) / state.size, (ay - by + cy - dy) / state.size]

    return read


def _quadrilaterals(build: Callable[[tuple[str, ...]], list[Reading]]) -> Callable[[tuple[str, ...]], list[Reading]]:
    return lambda names: [all_of(reading, convex(names)) for reading in build(names)]


def _trapezoid(names: tuple[str, ...]) -> list[Reading]:
    a, b, c, d = names
    return [parallel((a, b), (c, d)), parallel((b, c), (d, a))]


def _kite(names: tuple[str, ...]) -> list[Reading]:
    a, b, c, d = names
    return [
        all_of(same_length((a, b), (a, d)), same_length((c, b), (c, d))),
        all_of(same_length((b, a), (b, c)), same_length((d, a), (d, c))),
    ]


def _side(names: tuple[str, ...], index: int) -> Line:
    return names[index], names[(index + 1) % len(names)]


SHAPES: Mapping[str, Callable[[tuple[str, ...]], list[Reading]]] = {
    "Parallelogram": lambda names: [_parallelogram(names)],
    "Rectangle": lambda names: [all_of(_parallelogram(names), perpendicular(_side(names, 0), _side(names, 1)))],
    "Rhombus": lambda names: [all_of(_parallelogram(names), same_length(_side(names, 0), _side(names, 1)))],
    "Square": lambda names: [
        all_of(
            _parallelogram(names),
            perpendicular(_side(names, 0), _side(names, 1)),
            same_length(_side(names, 0), _side(names, 1)),
        )
    ],
    "Trapezoid": _quadrilaterals(_trapezoid),
    "Kite": _quadrilaterals(_kite),
    **{name: (lambda names: [convex(names)]) for name in ("Quadrilateral", "Pentagon", "Hexagon")},
    **{name: (lambda names: [convex(names)]) for name in ("Heptagon", "Octagon")},
}


def adjective(word: str, kind: str, names: tuple[str, ...]) -> list[Reading]:
    """The readings of an adjective (right, regular, ...) before a polygon of this kind."""
    pairs = side_pairs(names)
    if word == "Counterclockwise":
        return [counterclockwise(names)]
    if word == "Regular":
        return [_regular(names)]
    if word == "Equilateral":
        return [all_of(*(same_length(pairs[0], pair) for pair in pairs[1:]))]
    if word == "Right":
        return [perpendicular(first, second) for first, second in zip(pairs, (*pairs[1:], pairs[0]))]
    if kind == "Triangle":
        return [same_length(first, second) for first, second in zip(pairs, (*pairs[1:], pairs[0]))]
    return [same_length(pairs[1], pairs[3]), same_length(pairs[0], pairs[2])] if len(names) == 4 else []


def _regular(names: tuple[str, ...]) -> Reading:
    pairs, degrees = side_pairs(names), 180 * (len(names) - 2) / len(names)
    sides = [same_length(pairs[0], pair) for pair in pairs[1:]]

    def read(state: FigureBatch) -> list[Array]:
        corners = zip((names[-1], *names), names, (*names[1:], names[0]))
        return [(state.degrees(*corner) - degrees) / 60 for corner in corners]

    return all_of(*sides, read, convex(names))


class MisfitError(Exception):
    """The points of a relation do not fit together."""


def line_of(node: Node) -> Line:
    """The two points of a line."""
    first, second = names_of(node)
    return first, second


def point_of(node: Node) -> str:
    """The name of a point."""
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


def _opposite(line: Line, names: Sequence[str]) -> Line:
    pairs = side_pairs(names)
    for index, side in enumerate(pairs):
        if set(side) == set(line):
            return pairs[(index + 2) % 4]
    raise MisfitError("needs a line that is a side of the quadrilateral")


def _midsegment(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, names = line_of(args[0]), names_of(args[1])
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
    line, names = line_of(args[0]), names_of(args[1])
    if len(names) == 4:
        return _midsegment(args, figure)
    _, foot, opposite = _apex(line, names)
    return [middle_of(foot, opposite)]


def _altitude(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, names = line_of(args[0]), names_of(args[1])
    if len(names) == 4:
        top, base = (names[3], names[0]), (names[1], names[2])
        return [all_of(on_line(line[0], top), on_line(line[1], base), perpendicular(line, base))]
    _, foot, opposite = _apex(line, names)
    return [all_of(on_line(foot, opposite), perpendicular(line, opposite))]


def _base(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, shape = line_of(args[0]), unwrapped(args[1])
    names = names_of(shape)
    if len(names) == 4:
        return [parallel(line, _opposite(line, names))]
    apex = _third(line, names)
    is_isosceles = any(said.name == "Isosceles" and said.args[0] == shape for said in figure.given)
    return [same_length((apex, line[0]), (apex, line[1]))] if is_isosceles else []


def _leg(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, shape = line_of(args[0]), unwrapped(args[1])
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


def _hypotenuse(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line = line_of(args[0])
    corner = _third(line, names_of(args[1]))
    return [perpendicular((corner, line[0]), (corner, line[1]))]


def _incenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = point_of(args[0]), names_of(args[1])

    def read(state: FigureBatch) -> list[Array]:
        way = np.sign(state.signed_area(corners))
        heights = [way * state.height(point, side) / state.size for side in side_pairs(corners)]
        return [height - heights[0] for height in heights[1:]] + [np.maximum(0, 1e-4 - heights[0])]

    return [read]


def _centroid(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = point_of(args[0]), names_of(args[1])

    def read(state: FigureBatch) -> list[Array]:
        middles = [np.mean([state.points[name][axis] for name in corners], axis=0) for axis in (0, 1)]
        return [(state.points[point][axis] - middles[axis]) / state.size for axis in (0, 1)]

    return [read]


def _circumcenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, corners = point_of(args[0]), names_of(args[1])
    return [all_of(*(same_length((point, corners[0]), (point, corner)) for corner in corners[1:]))]


def _orthocenter(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point, (a, b, c) = point_of(args[0]), names_of(args[1])

    def read(state: FigureBatch) -> list[Array]:
        ways = (((a, point), (b, c)), ((b, point), (c, a)))
        return [dot(state.vector(*one), state.vector(*other)) / state.size**2 for one, other in ways]

    return [read]


POLYGON_RELATIONS: Mapping[str, Callable[[Sequence[Node], Figure], list[Reading]]] = {
    "IsCentroidOf": _centroid,
    "IsIncenterOf": _incenter,
    "IsCircumcenterOf": _circumcenter,
    "IsOrthocenterOf": _orthocenter,
    "IsMidsegmentOf": _midsegment,
    "IsMedianOf": _median,
    "IsAltitudeOf": _altitude,
    "IsHypotenuseOf": _hypotenuse,
    "IsBaseOf": _base,
    "IsLegOf": _leg,
}
