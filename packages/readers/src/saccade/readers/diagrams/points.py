"""The points of a figure: where lines end and meet, with the letters that are printed beside them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.geometry import Box
from saccade.readers.diagrams.labels import Label, Print
from saccade.readers.diagrams.segments import LineSegment
from saccade.readers.diagrams.strokes import FittedCircle, Strokes

SAME_PX = 6.5
"""Places that are nearer are one point."""

ON_PX = 4.0
"""How far a point may be from a line or a circle that it lies on."""

REACH = 0.13
"""How far a letter may be from its point, as a share of the picture's longer side."""

SPARE_LETTERS = "ZYXWVUTSRQPNMLKJIHGFEDCBAO"
"""Points that a line or a circle needs and that have no letter are called so, the first free one first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Straight:
    """A line of the figure with its points in order."""

    segment: LineSegment
    names: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ring:
    """A circle of the figure, with the points on it counterclockwise from the right."""

    round: FittedCircle
    centre: str
    names: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Points:
    """All points of a figure and what they lie on. Places are pixels of the ink, y downwards."""

    places: Mapping[str, complex]
    lines: tuple[Straight, ...]
    rings: tuple[Ring, ...]
    invented: tuple[str, ...]
    """Names that are not in the picture."""
    homeless: tuple[Label, ...]
    """Letters with no point near."""

    def pieces(self) -> list[tuple[str, str]]:
        """Neighbours on lines."""
        return [pair for line in self.lines for pair in zip(line.names, line.names[1:])]

    def rays(self, vertex: str) -> list[tuple[float, str]]:
        """The directions in which lines leave a point, with the nearest point on each; sorted, in degrees."""
        found = []
        for line in self.lines:
            if vertex in line.names:
                at = line.names.index(vertex)
                for other in (*line.names[max(0, at - 1) : at], *line.names[at + 1 : at + 2]):
                    way = line.segment.way if other in line.names[at:] else -line.segment.way
                    found.append((math.degrees(math.atan2(way.imag, way.real)) % 360, other))
        return sorted(found)


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place where a point may be."""

    at: complex
    doubt_px: float
    """Added to a letter's distance: nothing for an end of a line, more for a mere crossing."""


def points_of(strokes: Strokes, print_: Print, side_px: int) -> Points:
    """The points with their letters; those that a line needs and that have none get a name."""
    spots = _spots(strokes, print_)
    places, homeless = _place_letters(
        spots, [label for label in print_.labels if label.kind == "point"], REACH * side_px
    )
    invented: list[str] = []
    centres = [_centre(one, places, invented) for one in strokes.circles]
    for segment in strokes.segments:
        _name_ends(segment, places, invented)
    lines = [_straight(one, places) for one in strokes.segments]
    rings = [
        Ring(round=one, centre=centre, names=_on_circle(one, places, centre))
        for one, centre in zip(strokes.circles, centres)
    ]
    return Points(
        places=places,
        lines=tuple(sorted((line for line in lines if len(line.names) > 1), key=lambda line: line.names)),
        rings=tuple(rings),
        invented=tuple(invented),
        homeless=tuple(homeless),
    )


def _spots(strokes: Strokes, print_: Print) -> list[_Spot]:
    """Ends of lines, drawn to where lines really meet; crossings; centres; dots."""
    segments, circles = strokes.segments, strokes.circles
    meetings = [
        at
        for number, one in enumerate(segments)
        for other in segments[:number]
        if (at := _meeting(one, other)) is not None
    ]
    spots: list[_Spot] = [_Spot(circle.centre, 0.0) for circle in circles]
    for dot in print_.dots:
        _add(spots, dot, 0.0)
    for at in meetings:
        is_end = any(min(abs(at - one.start), abs(at - one.end)) < SAME_PX for one in segments)
        _add(spots, at, 0.0 if is_end else 2.0)
    for one in segments:
        for end in (one.start, one.end):
            _add(spots, end, 0.0)
        for circle in circles:
            for at in _entries(one, circle):
                _add(spots, at, 5.0)
    return spots


def _add(spots: list[_Spot], at: complex, doubt_px: float) -> None:
    if all(abs(at - spot.at) > SAME_PX for spot in spots):
        spots.append(_Spot(at, doubt_px))


def _meeting(one: LineSegment, other: LineSegment) -> complex | None:
    """The place where two lines meet within their ends, or a little beyond."""
    turn = (one.way.conjugate() * other.way).imag
    if abs(turn) < math.sin(math.radians(6)):
        return None
    along = ((other.start - one.start).conjugate() * other.way).imag / turn
    at = one.start + along * one.way
    slack = SAME_PX
    is_inside = -slack < along < one.length + slack and -slack < other.along(at) < other.length + slack
    return at if is_inside else None


def _entries(segment: LineSegment, circle: FittedCircle) -> list[complex]:
    """The places where a line goes through a circle."""
    middle = segment.along(circle.centre)
    square = circle.radius**2 - segment.off(circle.centre) ** 2
    if square <= 0:
        return []
    return [
        segment.start + along * segment.way
        for along in (middle - math.sqrt(square), middle + math.sqrt(square))
        if 0 <= along <= segment.length
    ]


def _place_letters(
    spots: Sequence[_Spot], letters: Sequence[Label], reach: float
) -> tuple[dict[str, complex], list[Label]]:
    """Each letter at the nearest place that no other letter is nearer to."""
    pairs = sorted(
        (gap, number, index)
        for number, letter in enumerate(letters)
        for index, spot in enumerate(spots)
        if (gap := box_gap(letter.box, spot.at) + spot.doubt_px) <= reach
    )
    places: dict[str, complex] = {}
    used_letters: set[int] = set()
    used_spots: set[int] = set()
    for _, number, index in pairs:
        name = letters[number].text
        if number not in used_letters and index not in used_spots and name not in places:
            used_letters.add(number)
            used_spots.add(index)
            places[name] = spots[index].at
    return places, [letter for number, letter in enumerate(letters) if number not in used_letters]


def box_gap(box: Box, at: complex) -> float:
    """How far a place is from the middle of a box; what is nearer along the box counts as nearer."""
    return math.hypot(at.real - box.center.x, at.imag - box.center.y)


def _centre(circle: FittedCircle, places: dict[str, complex], invented: list[str]) -> str:
    for name, at in places.items():
        if abs(at - circle.centre) <= SAME_PX:
            return name
    return _invent(circle.centre, places, invented, first="O")


def _name_ends(segment: LineSegment, places: dict[str, complex], invented: list[str]) -> None:
    """A line with fewer than two points is said by its ends."""
    if len(_on_line(segment, places)) < 2:
        for end in (segment.start, segment.end):
            if all(abs(end - at) > 2 * SAME_PX for at in places.values()):
                _invent(end, places, invented)


def _invent(at: complex, places: dict[str, complex], invented: list[str], first: str = "") -> str:
    name = next((letter for letter in first + SPARE_LETTERS if letter not in places), "")
    if name:
        places[name] = at
        invented.append(name)
    return name


def _straight(segment: LineSegment, places: Mapping[str, complex]) -> Straight:
    """The line with its points, from the end that comes first in the alphabet."""
    names = _on_line(segment, places)
    if names and names[0] > names[-1]:
        return Straight(segment=LineSegment(start=segment.end, end=segment.start), names=names[::-1])
    return Straight(segment=segment, names=names)


def _on_line(segment: LineSegment, places: Mapping[str, complex]) -> str:
    on = [
        (along, name)
        for name, at in places.items()
        if segment.off(at) <= ON_PX and -SAME_PX - 1 <= (along := segment.along(at)) <= segment.length + SAME_PX + 1
    ]
    return "".join(name for _, name in sorted(on))


def _on_circle(circle: FittedCircle, places: Mapping[str, complex], centre: str) -> str:
    on = [
        (-math.atan2((at - circle.centre).imag, (at - circle.centre).real) % (2 * math.pi), name)
        for name, at in places.items()
        if name != centre and circle.off(at) <= ON_PX
    ]
    return "".join(name for _, name in sorted(on))
