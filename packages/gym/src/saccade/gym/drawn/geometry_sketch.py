"""A geometry problem before it is drawn: its figure, the values printed into it, its words, and the answer.

Points are written as Greek letters until ``named`` gives them capitals, so that a sketch reads like a problem and yet
every problem has letters of its own. Angles are in degrees, places are complex numbers with y upwards.
"""

import cmath
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.scene import SIZE_PX

GREEK = "αβγδεζηθο"

TRIPLES = ((3, 4, 5), (6, 8, 10), (5, 12, 13), (8, 15, 17), (9, 12, 15), (7, 24, 25), (20, 21, 29))
"""Sides of right triangles in whole numbers."""

Names = Sequence[str]
"""A line, an angle, a polygon: its points run together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sketch:
    """A problem: what its diagram shows and what its words say."""

    places: Mapping[str, complex]
    lines: tuple[str, ...]
    """Straight lines from end to end, with the points that lie between: ``ADB``."""
    question: str
    goal: str
    """The goal, as a logic form."""
    answer: float
    circles: Mapping[str, str] = field(default_factory=dict)
    """By centre: the points on it; the first one makes the radius."""
    polygons: tuple[str, ...] = ()
    lengths: Mapping[str, str] = field(default_factory=dict)
    """By segment, what is printed at it: ``5``, ``2x+1``."""
    angles: Mapping[str, str] = field(default_factory=dict)
    """By angle, what is printed in it, without the sign of degrees."""
    right_angles: tuple[str, ...] = ()
    """Marked by a little square."""
    equal_lengths: tuple[tuple[str, ...], ...] = ()
    """Groups of segments with as many ticks as the number of the group."""
    equal_angles: tuple[tuple[str, ...], ...] = ()
    """Groups of angles with one arc more than the number of the group."""
    parallels: tuple[tuple[str, ...], ...] = ()
    """Groups of segments with as many arrow heads as the number of the group."""
    said: tuple[str, ...] = ()
    """Further statements of the words, as logic forms."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The diagram in logic forms."""
        return tuple(_visible_statements(self))

    @property
    def logic_forms(self) -> tuple[str, ...]:
        """The whole problem."""
        return (*dict.fromkeys([*self.shown, *self.said]), f"Find({self.goal})")

    @property
    def construction_cdl(self) -> tuple[str, ...]:
        """Shapes, which points lie on one line and which on a circle; all counterclockwise."""
        shapes = [f"Shape({','.join(a + b for a, b in _sides(self.ccw_corners(shape)))})" for shape in self.polygons]
        straight = [f"Collinear({line})" for line in self.lines if len(line) > 2]
        round_ = [f"Cocircular({centre},{self._around(centre, on)})" for centre, on in self.circles.items()]
        return (*shapes, *straight, *round_)

    @property
    def image_cdl(self) -> tuple[str, ...]:
        """The printed values and the marks."""
        return (
            *(f"Equal(LengthOfLine({line}),{text})" for line, text in self.lengths.items()),
            *(f"Equal(MeasureOfAngle({self.ccw_corners(corner)}),{text})" for corner, text in self.angles.items()),
            *(
                f"PerpendicularBetweenLine({a}{b},{c}{b})"
                for a, b, c in map(tuple, map(self.ccw_corners, self.right_angles))
            ),
            *(f"Equal(LengthOfLine({one}),LengthOfLine({two}))" for one, two in _neighbours(self.equal_lengths)),
            *(
                f"Equal(MeasureOfAngle({self.ccw_corners(one)}),MeasureOfAngle({self.ccw_corners(two)}))"
                for one, two in _neighbours(self.equal_angles)
            ),
            *(f"ParallelBetweenLine({one},{two})" for one, two in _neighbours(self.parallels)),
        )

    def ccw_corners(self, corners: str) -> str:
        """The corners in the order in which they go round counterclockwise."""
        spots = [self.places[name] for name in corners]
        area = sum((a.conjugate() * b).imag for a, b in zip(spots, [*spots[1:], spots[0]]))
        return corners if area > 0 else corners[::-1]

    def _around(self, centre: str, names: str) -> str:
        return "".join(sorted(names, key=lambda name: cmath.phase(self.places[name] - self.places[centre])))


def with_capitals(sketch: Sketch, letters: Sequence[str]) -> Sketch:
    """The sketch with capitals for its Greek letters, which get them in order; ``ο`` is the last one and stays O."""
    used = [letter for letter in GREEK[:-1] if letter in sketch.places]
    table = str.maketrans({**dict(zip(used, letters)), "ο": "O"})
    changed = {one.name: _translated(getattr(sketch, one.name), table) for one in fields(sketch)}
    return replace(sketch, **changed)  # type: ignore[arg-type]


def laid_out(
    sketch: Sketch, degrees: float, *, is_mirrored: bool, border_px: float, size_px: float
) -> dict[str, Point]:
    """Where the points come in the picture: turned, perhaps mirrored, as large as ``size_px`` allows, in the middle."""
    turn = cmath.exp(1j * math.radians(degrees))
    spots = {name: turn * (at.conjugate() if is_mirrored else at) for name, at in sketch.places.items()}
    outline = [*spots.values()]
    for centre, on in sketch.circles.items():
        radius = abs(spots[on[0]] - spots[centre])
        outline += [spots[centre] + radius * way for way in (1, 1j, -1, -1j)]
    left, right = min(at.real for at in outline), max(at.real for at in outline)
    low, high = min(at.imag for at in outline), max(at.imag for at in outline)
    scale = min(size_px, SIZE_PX - 2 * border_px) / max(right - left, high - low)
    middle = SIZE_PX / 2
    return {
        name: Point(middle + (at.real - (left + right) / 2) * scale, middle - (at.imag - (low + high) / 2) * scale)
        for name, at in spots.items()
    }


def in_frame(sketch: Sketch, spots: Mapping[str, Point]) -> Sketch:
    """The sketch with its points where the picture has them, in pixels with y upwards: mirroring turns round."""
    return replace(sketch, places={name: complex(at.x, -at.y) for name, at in spots.items()})


def _visible_statements(sketch: Sketch) -> Iterator[str]:
    for line in sketch.lines:
        for before, here, after in zip(line, line[1:], line[2:]):
            yield f"PointLiesOnLine({here},Line({before},{after}))"
        if len(line) == 2:
            yield _line(line)
    for centre, on in sketch.circles.items():
        yield from (f"PointLiesOnCircle({name},Circle({centre}))" for name in on)
    yield from (f"Equals(LengthOf({_line(line)}),{text})" for line, text in sketch.lengths.items())
    yield from (f"Equals({_measure(corner)},{text})" for corner, text in sketch.angles.items())
    yield from (f"Perpendicular(Line({a},{b}),Line({b},{c}))" for a, b, c in map(tuple, sketch.right_angles))
    for one, two in _neighbours(sketch.equal_lengths):
        yield f"Equals(LengthOf({_line(one)}),LengthOf({_line(two)}))"
    yield from (f"Equals({_measure(one)},{_measure(two)})" for one, two in _neighbours(sketch.equal_angles))
    yield from (f"Parallel({_line(one)},{_line(two)})" for one, two in _neighbours(sketch.parallels))


def _neighbours(groups: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    for group in groups:
        yield from pairwise(group)


def _sides(corners: str) -> Iterator[tuple[str, str]]:
    return zip(corners, corners[1:] + corners[0])


def _line(names: str) -> str:
    return f"Line({','.join(names)})"


def _measure(names: str) -> str:
    return f"MeasureOf(Angle({','.join(names)}))"


def _translated(value: object, table: Mapping[int, str]) -> object:
    match value:
        case str():
            return value.translate(table)
        case tuple():
            return tuple(_translated(one, table) for one in value)
        case Mapping():
            return {_translated(key, table): _translated(one, table) for key, one in value.items()}
        case _:
            return value


def polar(length: float, degrees: float) -> complex:
    """The place at this distance and direction from the origin."""
    return cmath.rect(length, math.radians(degrees))


def whole(rng: Generator, least: int, most: int, step: int = 1) -> int:
    """A random multiple of the step within the limits, both included."""
    return step * int(rng.integers(-(-least // step), most // step + 1))


def triple(rng: Generator) -> tuple[int, int, int]:
    """The sides of a right triangle in whole numbers, the longest last."""
    a, b, c = TRIPLES[int(rng.integers(len(TRIPLES)))]
    return (a, b, c) if rng.integers(2) else (b, a, c)


def triangle_corners(at_first: float, at_second: float) -> tuple[complex, complex, complex]:
    """A triangle with these angles at its second and third corner."""
    apex = 180 - at_first - at_second
    return polar(math.sin(math.radians(at_second)) / math.sin(math.radians(apex)), at_first), 0j, 1 + 0j


def in_x(value: int, x: int, factor: int) -> str:
    """An expression of this value, as ``3x-2``."""
    rest = value - factor * x
    return f"{factor if factor > 1 else ''}x" + (f"{rest:+d}" if rest else "")
