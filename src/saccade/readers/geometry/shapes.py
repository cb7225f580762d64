"""What it means to be a shape: residuals of parallelograms, kites, regular polygons and the like."""

from collections.abc import Callable, Mapping

from saccade.readers.geometry.residuals import (
    Line,
    Reading,
    all_of,
    convex,
    counterclockwise,
    parallel,
    perpendicular,
    same_length,
    side_pairs,
)
from saccade.readers.geometry.state import Array, FigureBatch


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
    """What an adjective demands of a polygon of this kind."""
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
