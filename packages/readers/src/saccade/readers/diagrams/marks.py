"""Marks of a figure: squares of right angles, arcs of angles, ticks of equal lengths, arrow heads of parallels."""

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from saccade.readers.diagrams.ink import Ink, Mask
from saccade.readers.diagrams.points import Points
from saccade.readers.diagrams.strokes import NEAR_PX, Strokes, is_ink

SQUARES_PX = np.arange(6.0, 27.5, 0.5)
ARCS_PX = np.arange(8.0, 34.0, 0.5)
"""Sizes that are looked for, in a picture of 256 px; larger pictures have larger marks."""

DRAWN = 0.85
"""How much of a mark's way must be ink."""

UPRIGHT = 25.0
"""How much an angle with a square may differ from 90 degrees as drawn."""

TICK_PX = (2.6, 4.5)
"""At these distances from the line its ticks and arrow heads are looked at, on both sides."""

SLANT_PX = 0.9
"""Between what is seen at the two distances, for the side of an arrow head."""

Angle = tuple[str, str, str]
Piece = tuple[str, str]
Way = npt.NDArray[np.complexfloating]


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """Marks by the angle or piece that carries them. Angles have neighbouring arms, pieces are neighbours on a line."""

    right_angles: tuple[Angle, ...]
    arcs: dict[Angle, int]
    """How many arcs an angle has."""
    ticks: dict[Piece, int]
    heads: dict[Piece, int]
    """How many arrow heads a piece has."""


def marks_of(ink: Ink, strokes: Strokes, points: Points) -> Marks:
    """The marks at the points and lines of a figure."""
    finder = _Finder(ink, strokes, points)
    right_angles: list[Angle] = []
    arcs: dict[Angle, int] = {}
    for angle, start, sweep in openings(points):
        vertex = points.places[angle[1]]
        square, arc, count = finder.square(vertex, start, sweep), *finder.arcs(vertex, start, sweep)
        if square >= DRAWN and square >= arc:
            right_angles.append(angle)
        elif arc >= DRAWN:
            arcs[angle] = count
    ticks, heads = dict[Piece, int](), dict[Piece, int]()
    for piece in points.pieces():
        tick_count, head_count = finder.strokes_across(*(points.places[name] for name in piece))
        if tick_count:
            ticks[piece] = tick_count
        if head_count:
            heads[piece] = head_count
    return Marks(right_angles=tuple(right_angles), arcs=arcs, ticks=ticks, heads=heads)


def openings(points: Points) -> list[tuple[Angle, float, float]]:
    """Angles below 180 degrees between neighbouring lines, where they start and how far they go, in degrees."""
    found = []
    for vertex in points.places:
        rays = points.rays(vertex)
        for (start, first), (end, second) in zip(rays, [*rays[1:], *rays[:1]]):
            sweep = (end - start) % 360
            if len(rays) > 1 and 4 < sweep < 178:
                found.append(((first, vertex, second), start, sweep))
    return found


class _Finder:
    """Detector of marks, along the paths that they would take."""

    def __init__(self, ink: Ink, strokes: Strokes, points: Points) -> None:
        self._rest = _without_lines(ink, strokes, 0.3)
        self._faint = np.where(_without_lines(ink, strokes, 0.05), ink.strength, 0).astype(np.float32)
        self._points = points
        self._scale = max(1.0, ink.side_px / 256)

    def square(self, vertex: complex, start: float, sweep: float) -> float:
        """How well a little square is drawn in an opening, at the size that fits best."""
        if abs(sweep - 90) > UPRIGHT:
            return 0.0
        along, across = _unit(start), _unit(start + sweep)
        best = 0.0
        for size in SQUARES_PX * self._scale:
            shares = np.arange(3.0, size + 0.1, 0.5)
            way = np.concatenate([vertex + size * along + shares * across, vertex + size * across + shares * along])
            best = max(best, self._inked_share(way))
        return best

    def arcs(self, vertex: complex, start: float, sweep: float) -> tuple[float, int]:
        """How well an arc is drawn in an opening, and how many there are."""
        drawn = []
        for radius in ARCS_PX * self._scale:
            margin = math.degrees(3.2 / radius)
            if sweep < 2 * margin + 8:
                drawn.append(0.0)
                continue
            turns = np.arange(start + margin, start + sweep - margin, math.degrees(0.6 / radius))
            drawn.append(self._inked_share(vertex + radius * _unit(turns), reach=0.35))
        good = np.array(drawn) >= DRAWN
        count = int((np.diff(good.astype(np.int8), prepend=0) == 1).sum())
        return max(drawn), max(1, count)

    def strokes_across(self, start: complex, end: complex) -> tuple[int, int]:
        """Ticks and arrow heads between two points."""
        long, way = abs(end - start), (end - start) / abs(end - start)
        steps = np.arange(9.0, long - 9.0, 0.5)
        if len(steps) < 4:
            return 0, 0
        near, far = ([self._runs(start + steps * way, side * away * way * 1j) for side in (1, -1)] for away in TICK_PX)
        middles = [_paired(*near), _paired(*far)]
        ticks = heads = 0
        for at in middles[0]:
            shifts = [other - at for other in middles[1] if abs(other - at) <= 3.2]
            if shifts:
                is_slanted = abs(min(shifts, key=abs)) >= SLANT_PX
                ticks, heads = ticks + (not is_slanted), heads + is_slanted
        return ticks, heads

    def _runs(self, line: Way, offset: complex) -> list[float]:
        """Where strokes cross a line beside the given one, in pixels from its first place."""
        strength = cv2.remap(
            self._faint,
            np.real(line + offset - 0.5 - 0.5j).astype(np.float32).reshape(1, -1),
            np.imag(line + offset - 0.5 - 0.5j).astype(np.float32).reshape(1, -1),
            cv2.INTER_LINEAR,
        )[0]
        found = strength >= 0.2
        edges = np.flatnonzero(np.diff(np.concatenate([[False], found, [False]]).astype(np.int8)))
        return [
            float(np.average(np.arange(first, last), weights=strength[first:last])) / 2
            for first, last in zip(edges[::2], edges[1::2])
            if last - first <= 14 and strength[first:last].max() >= 0.4
        ]

    def _inked_share(self, way: Way, reach: float = 0.5) -> float:
        return float(is_ink(self._rest, way, reach).mean()) if len(way) else 0.0


def _without_lines(ink: Ink, strokes: Strokes, least: float) -> Mask:
    """Ink that no line and no circle covers, also faint ink, for marks are thin."""
    mask = ink.strength >= least
    rows, columns = np.nonzero(mask)
    places = columns + 0.5 + 1j * (rows + 0.5)
    covered = np.zeros(len(places), bool)
    for line in strokes.segments:
        turned = (places - line.start) * line.way.conjugate()
        covered |= (np.abs(turned.imag) < NEAR_PX) & (turned.real > -3) & (turned.real < line.length + 3)
    for circle in strokes.circles:
        covered |= np.abs(np.abs(places - circle.centre) - circle.radius) < NEAR_PX
    for glyph in ink.glyphs:
        inside = (
            (columns >= glyph.left - 1) & (columns <= glyph.right) & (rows >= glyph.top - 1) & (rows <= glyph.bottom)
        )
        covered |= inside
    mask[rows[covered], columns[covered]] = False
    return mask


def _paired(one: list[float], other: list[float]) -> list[float]:
    """Strokes that are seen on both sides of a line."""
    return [(a + b) / 2 for a in one for b in other if abs(a - b) <= 2.0]


def _unit(degrees: npt.NDArray[np.float64] | float) -> Way:
    return np.asarray(np.exp(1j * np.radians(degrees)))
