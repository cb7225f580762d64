"""Reading a diagram from pixels: points, lines, circles, printed values and marks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from PIL import Image

from saccade.readers.diagrams.ink import ink_of
from saccade.readers.diagrams.labels import SURE, Label, print_of
from saccade.readers.diagrams.marks import Angle, Marks, Piece, marks_of, openings
from saccade.readers.diagrams.points import Points, points_of
from saccade.readers.diagrams.strokes import strokes_of
from saccade.readers.text.lines import TextReader

BESIDE = 0.13
"""How far a length may stand from its line, as a share of the picture's longer side."""

INSIDE = 0.34
"""How far an angle's value may stand from its corner, likewise."""

UNMARKED = 3.0
"""An angle without an arc counts as so many times farther away."""


Place = TypeVar("Place", bound=tuple[str, ...])


@dataclass(frozen=True, kw_only=True, slots=True)
class Circle:
    """A circle by its centre, with the points on it counterclockwise."""

    centre: str
    names: str
    radius: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagram:
    """A geometry diagram that was read. Places are in pixels of the picture, y downwards; names are single letters."""

    places: Mapping[str, complex]
    lines: tuple[str, ...]
    """Each with its points in order."""
    circles: tuple[Circle, ...]
    lengths: Mapping[Piece, str]
    angles: Mapping[Angle, str]
    right_angles: tuple[Angle, ...]
    equal_lengths: tuple[tuple[Piece, ...], ...]
    equal_angles: tuple[tuple[Angle, ...], ...]
    parallels: tuple[tuple[str, ...], ...]
    """Groups of lines."""
    notes: tuple[str, ...]
    """Parts that were left out or made up, a sentence each."""


def read_diagram(image: Image.Image, reader: TextReader | None = None, sure: float = SURE) -> Diagram:
    """The diagram of a picture; ``ToolError`` when it shows none.

    ``reader`` reads labels that are less than ``sure`` without it, by 0 to 1; above 1 it reads them all.
    """
    ink = ink_of(image)
    print_ = print_of(ink, reader, sure)
    strokes = strokes_of(ink)
    points = points_of(strokes, print_, ink.side_px)
    marks = marks_of(ink, strokes, points)
    lengths, no_line = _lengths([one for one in print_.labels if one.kind == "length"], points, BESIDE * ink.side_px)
    angles, no_angle = _angles(
        [one for one in print_.labels if one.kind == "angle"], points, marks, INSIDE * ink.side_px
    )
    unread = [one for one in print_.labels if one.kind == "unread"]
    return Diagram(
        places={name: at * ink.scale for name, at in points.places.items()},
        lines=tuple(line.names for line in points.lines),
        circles=tuple(
            Circle(centre=ring.centre, names=ring.names, radius=ring.round.radius * ink.scale) for ring in points.rings
        ),
        lengths=lengths,
        angles=angles,
        right_angles=marks.right_angles,
        equal_lengths=_same_number(marks.ticks),
        equal_angles=_same_number({corner: n for corner, n in marks.arcs.items() if n > 1 or corner not in angles}),
        parallels=_parallels(points, marks),
        notes=tuple(_notes(points, [*points.homeless, *no_line, *no_angle], unread, ink.scale)),
    )


def _lengths(labels: Sequence[Label], points: Points, reach: float) -> tuple[dict[Piece, str], list[Label]]:
    """Each length at the nearest piece of a line, the surest first."""
    pairs = []
    for number, label in enumerate(labels):
        for piece in points.pieces():
            start, end = (points.places[name] for name in piece)
            long, way = abs(end - start), (end - start) / abs(end - start)
            turned = (label.at - start) * way.conjugate()
            if 0 < turned.real < long and abs(turned.imag) <= reach:
                pairs.append((abs(turned.imag) + 0.2 * abs(turned.real - long / 2), number, piece))
    return _match_labels(sorted(pairs), labels)


def _angles(
    labels: Sequence[Label], points: Points, marks: Marks, reach: float
) -> tuple[dict[Angle, str], list[Label]]:
    """Each value in the nearest angle whose arms it stands between."""
    pairs = []
    for number, label in enumerate(labels):
        for corner, start, sweep in openings(points):
            away = label.at - points.places[corner[1]]
            turn = (math.degrees(math.atan2(away.imag, away.real)) - start) % 360
            if turn < sweep and abs(away) <= reach and corner not in marks.right_angles:
                aside = abs(turn - sweep / 2) / sweep
                unmarked = 1.0 if corner in marks.arcs else UNMARKED
                pairs.append((abs(away) * unmarked * (1 + aside), number, corner))
    return _match_labels(sorted(pairs), labels)


def _match_labels(
    pairs: Sequence[tuple[float, int, Place]], labels: Sequence[Label]
) -> tuple[dict[Place, str], list[Label]]:
    """The best pairs of labels and places, each used once; and the labels without a place."""
    found: dict[Place, str] = {}
    used: set[int] = set()
    for _, number, place in pairs:
        if number not in used and place not in found:
            used.add(number)
            found[place] = labels[number].text
    return found, [label for number, label in enumerate(labels) if number not in used]


def _same_number(counts: Mapping[Place, int]) -> tuple[tuple[Place, ...], ...]:
    groups = [
        tuple(place for place, count in counts.items() if count == wanted) for wanted in sorted({*counts.values()})
    ]
    return tuple(group for group in groups if len(group) > 1)


def _parallels(points: Points, marks: Marks) -> tuple[tuple[str, ...], ...]:
    """Lines whose pieces have the same number of arrow heads."""
    counts: dict[tuple[str, ...], int] = {}
    for line in points.lines:
        found = [marks.heads[piece] for piece in zip(line.names, line.names[1:]) if piece in marks.heads]
        if found:
            counts[(line.names,)] = max(found)
    return tuple(tuple(name for (name,) in group) for group in _same_number(counts))


def _notes(points: Points, stray: Sequence[Label], unread: Sequence[Label], scale: float) -> list[str]:
    notes = []
    for name in points.invented:
        at = points.places[name] * scale
        notes.append(
            f"the point at ({at.real:.0f},{at.imag:.0f}) has no letter in the diagram and is called {name} here"
        )
    notes += [
        f'"{one.text}" at ({one.at.real * scale:.0f},{one.at.imag * scale:.0f}) belongs to nothing found'
        for one in stray
    ]
    notes += [
        f"something printed at ({one.at.real * scale:.0f},{one.at.imag * scale:.0f}) could not be read"
        for one in unread
    ]
    return notes
