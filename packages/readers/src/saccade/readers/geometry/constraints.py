"""Constraints of statements, as residuals that are 0 where a figure fulfils them.

A statement that can be read in several ways (which sides of an isosceles triangle are equal?) has several readings, all
with the same number of residuals.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.polygons import POLYGON_RELATIONS, SHAPES, MisfitError, adjective, line_of, point_of
from saccade.readers.geometry.residuals import (
    Reading,
    all_of,
    between,
    equal,
    middle_of,
    on_circle,
    parallel,
    perpendicular,
    side_pairs,
)
from saccade.readers.geometry.terms import Call, LanguageError, Node
from saccade.readers.geometry.values import Array, FigureBatch, cross, dot, names_of, norm
from saccade.readers.geometry.vocabulary import CORNERS, unwrapped


def _tangent(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (centre,) = line_of(args[0]), names_of(args[1])
    on_line = [
        point_of(said.args[0])
        for said in figure.given
        if said.name == "PointLiesOnLine" and set(line_of(said.args[1])) == set(line)
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

    def read(state: FigureBatch) -> list[Array]:
        way = np.sign(state.signed_area(corners))
        return [(way * state.height(centre, side) - state.radii[centre]) / state.size for side in side_pairs(corners)]

    return [read]


def _bisects(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (first, vertex, second) = line_of(args[0]), names_of(args[1])
    if vertex not in line:
        raise MisfitError("needs a line from the angle's vertex")
    end = line[1] if line[0] == vertex else line[0]

    def read(state: FigureBatch) -> list[Array]:
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

    def read(state: FigureBatch) -> list[Array]:
        logs = [np.log(state.distance(ones[i], ones[j]) / state.distance(others[i], others[j])) for i, j in pairs]
        return logs if is_congruent else [log - logs[0] for log in logs[1:]]

    return [read]


def _radius(args: Sequence[Node], figure: Figure) -> list[Reading]:
    line, (centre,) = line_of(args[0]), names_of(args[1])
    if centre not in line:
        raise MisfitError("needs a line from the centre of the circle")
    return [on_circle(line[0] if line[1] == centre else line[1], centre)]


def _crossing(args: Sequence[Node], figure: Figure) -> list[Reading]:
    point = point_of(args[2])
    return [all_of(between(point, line_of(args[0])), between(point, line_of(args[1])))]


def _right(names: Sequence[str]) -> list[Reading]:
    first, vertex, second = names
    return [perpendicular((vertex, first), (vertex, second))]


RELATIONS: Mapping[str, Callable[[Sequence[Node], Figure], list[Reading]]] = {
    **POLYGON_RELATIONS,
    "PointLiesOnLine": lambda args, _: [between(point_of(args[0]), line_of(args[1]))],
    "PointLiesOnCircle": lambda args, _: [on_circle(point_of(args[0]), names_of(args[1])[0])],
    "Parallel": lambda args, _: [parallel(line_of(args[0]), line_of(args[1]))],
    "Perpendicular": lambda args, _: [perpendicular(line_of(args[0]), line_of(args[1]))],
    "RightAngle": lambda args, _: _right(names_of(args[0])),
    "IntersectAt": _crossing,
    "BisectsAngle": _bisects,
    "Congruent": lambda args, figure: _same_form(args, figure, is_congruent=True),
    "Similar": lambda args, figure: _same_form(args, figure, is_congruent=False),
    "Tangent": _tangent,
    "InscribedIn": _inscribed,
    "CircumscribedTo": lambda args, figure: _inscribed(args[::-1], figure),
    "IsMidpointOf": lambda args, _: [middle_of(point_of(args[0]), line_of(args[1]))],
    "IsRadiusOf": _radius,
    "IsDiameterOf": lambda args, _: [
        all_of(middle_of(names_of(args[1])[0], line_of(args[0])), on_circle(names_of(args[0])[0], names_of(args[1])[0]))
    ],
    "IsChordOf": lambda args, _: [all_of(*(on_circle(name, names_of(args[1])[0]) for name in line_of(args[0])))],
    "IsPerpendicularBisectorOf": lambda args, _: [
        lambda state: [
            np.log(state.distance(name, names_of(args[1])[0]) / state.distance(name, names_of(args[1])[1]))
            for name in names_of(args[0])
        ]
    ],
}


def readings_of(statement: Call, figure: Figure) -> list[Reading]:
    """All ways to read a statement; empty where it demands nothing that could be measured."""
    name, args = statement.name, statement.args
    if name == "Equals":
        return [equal(args[0], args[1], figure)]
    if name in SHAPES:
        return SHAPES[name](names_of(statement))
    if name in ("Isosceles", "Equilateral", "Right", "Regular", "Counterclockwise"):
        inner = unwrapped(statement)
        assert isinstance(inner, Call)
        return adjective(name, inner.name, names_of(inner))
    if name in RELATIONS:
        try:
            return RELATIONS[name](args, figure)
        except MisfitError as misfit:
            raise LanguageError(f"character {statement.at + 1}: {name} {misfit}") from None
    return []
