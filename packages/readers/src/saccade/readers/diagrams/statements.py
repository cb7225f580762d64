"""A diagram as statements: logic forms of Inter-GPS, and FormalGeo's construction and image CDL."""

import cmath
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from saccade.readers.diagrams.diagram import Diagram

Places = Mapping[str, complex]

STRAIGHT_DEGREES = 4.0
"""A corner that turns by less is none."""


def logic_forms_of(diagram: Diagram) -> tuple[str, ...]:
    """Logic forms of the diagram: lines, circles, then printed values and marks."""
    return tuple(_logic_forms(diagram))


def construction_cdl_of(diagram: Diagram) -> tuple[str, ...]:
    """Shapes that lines enclose, counterclockwise; which points lie on one line, which on a circle."""
    shapes = [f"Shape({','.join(a + b for a, b in _sides(shape))})" for shape in faces_of(diagram)]
    straight = [f"Collinear({line})" for line in diagram.lines if len(line) > 2]
    circles = [
        f"Cocircular({circle.centre},{circle.names})" if circle.names else f"Cocircular({circle.centre})"
        for circle in diagram.circles
    ]
    return (*shapes, *straight, *circles)


def image_cdl_of(diagram: Diagram) -> tuple[str, ...]:
    """Printed values and marks, in CDL."""
    places = diagram.places
    angles = {corner: f"MeasureOfAngle({ccw_corners(''.join(corner), places)})" for corner in _corners(diagram)}
    found = [f"Equal(LengthOfLine({''.join(piece)}),{text})" for piece, text in diagram.lengths.items()]
    found += [f"Equal({angles[corner]},{text})" for corner, text in diagram.angles.items()]
    for corner in diagram.right_angles:
        a, b, c = tuple(ccw_corners("".join(corner), places))
        found.append(f"PerpendicularBetweenLine({a}{b},{c}{b})")
    for group in diagram.equal_lengths:
        found += [f"Equal(LengthOfLine({a}{b}),LengthOfLine({c}{d}))" for (a, b), (c, d) in pairwise(group)]
    for corners in diagram.equal_angles:
        found += [f"Equal({angles[one]},{angles[other]})" for one, other in pairwise(corners)]
    for lines in diagram.parallels:
        found += [f"ParallelBetweenLine({one},{other})" for one, other in _same_way(lines, places)]
    return tuple(found)


def ccw_corners(corners: str, places: Places) -> str:
    """The corners in the order in which they go round counterclockwise, as CDL writes angles and shapes."""
    return corners if _area([places[name] for name in corners]) >= 0 else corners[::-1]


def faces_of(diagram: Diagram) -> list[str]:
    """The least polygons that lines enclose, counterclockwise, by their corners."""
    places = diagram.places
    ways: dict[str, list[str]] = {}
    for line in diagram.lines:
        for one, other in pairwise(line):
            ways.setdefault(one, []).append(other)
            ways.setdefault(other, []).append(one)
    for name, others in ways.items():
        # Counterclockwise as seen, where y points down.
        others.sort(key=lambda other, at=places[name]: -cmath.phase(places[other] - at))  # type: ignore[misc]
    faces = []
    unused = {(one, other) for one, others in ways.items() for other in others}
    for start in sorted(unused):
        if start not in unused:
            continue
        walk, step = [], start
        while step in unused:
            unused.discard(step)
            walk.append(step[0])
            round_ = ways[step[1]]
            step = (step[1], round_[round_.index(step[0]) - 1])
        face = _without_straight(walk, places)
        if len(face) >= 3 and len(set(face)) == len(face) and _area([places[name] for name in face]) > 0:
            faces.append("".join(face))
    return [face for face in faces if _is_simple(face, places)]


def _logic_forms(diagram: Diagram) -> Iterator[str]:
    for line in diagram.lines:
        if len(line) == 2:
            yield _line(line)
        for before, here, after in zip(line, line[1:], line[2:]):
            yield f"PointLiesOnLine({here},Line({before},{after}))"
    for circle in diagram.circles:
        yield from (f"PointLiesOnCircle({name},Circle({circle.centre}))" for name in circle.names)
        if not circle.names:
            yield f"Circle({circle.centre})"
    yield from (f"Equals(LengthOf({_line(piece)}),{text})" for piece, text in diagram.lengths.items())
    yield from (f"Equals({_measure(corner)},{text})" for corner, text in diagram.angles.items())
    yield from (f"Perpendicular(Line({a},{b}),Line({b},{c}))" for a, b, c in diagram.right_angles)
    for group in diagram.equal_lengths:
        yield from (f"Equals(LengthOf({_line(one)}),LengthOf({_line(two)}))" for one, two in pairwise(group))
    for corners in diagram.equal_angles:
        yield from (f"Equals({_measure(one)},{_measure(two)})" for one, two in pairwise(corners))
    for lines in diagram.parallels:
        yield from (f"Parallel({_line(one)},{_line(two)})" for one, two in _same_way(lines, diagram.places))


def _corners(diagram: Diagram) -> Iterator[tuple[str, str, str]]:
    yield from diagram.angles
    for group in diagram.equal_angles:
        yield from group


def _same_way(lines: Sequence[str], places: Places) -> Iterator[tuple[str, str]]:
    """Neighbours in a group of parallels by their ends, both written in the same direction."""
    for one, other in pairwise(line[0] + line[-1] for line in lines):
        way = (places[one[1]] - places[one[0]]).conjugate() * (places[other[1]] - places[other[0]])
        yield one, other if way.real > 0 else other[::-1]


def _without_straight(walk: Sequence[str], places: Places) -> list[str]:
    corners = []
    for before, here, after in zip([walk[-1], *walk], walk, [*walk[1:], walk[0]]):
        turn = cmath.phase((places[after] - places[here]) / (places[here] - places[before]))
        if abs(math.degrees(turn)) > STRAIGHT_DEGREES:
            corners.append(here)
    return corners


def _is_simple(face: str, places: Places) -> bool:
    """Whether no sides cross, as they may where a crossing has no letter."""
    sides = [(places[a], places[b]) for a, b in _sides(face)]
    return not any(
        _splits(*sides[i], *sides[j]) and _splits(*sides[j], *sides[i])
        for i in range(len(sides))
        for j in range(i + 2, len(sides) - (i == 0))
    )


def _splits(start: complex, end: complex, one: complex, other: complex) -> bool:
    way = (end - start).conjugate()
    return (way * (one - start)).imag * (way * (other - start)).imag < 0


def _area(spots: Sequence[complex]) -> float:
    """Positive when the places go round counterclockwise as seen, with y downwards."""
    return -sum((a.conjugate() * b).imag for a, b in zip(spots, [*spots[1:], spots[0]]))


def _sides(corners: str) -> Iterator[tuple[str, str]]:
    return zip(corners, corners[1:] + corners[0])


def _line(names: Sequence[str]) -> str:
    return f"Line({','.join(names)})"


def _measure(names: Sequence[str]) -> str:
    return f"MeasureOf(Angle({','.join(names)}))"
