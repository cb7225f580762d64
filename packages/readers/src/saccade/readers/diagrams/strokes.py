"""Straight lines and circles of a figure, found one after the other in the ink that is not yet explained."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from saccade.errors import ToolError
from saccade.readers.diagrams.ink import Ink, Mask
from saccade.readers.diagrams.segments import HoughTransform, LineSegment, Places

SHORTEST = 0.11
"""A straight line, as a share of the picture's longer side; less is a mark."""

SMALLEST = 0.09
"""The radius of a circle, likewise."""

NEAR_PX = 1.9
"""How far the ink of a line reaches from its middle."""

MAX_GAP_PX = 3.5
MAX_LINES, MAX_CIRCLES = 40, 4
MAX_TRIES = 400
"""Number of lines that are looked at more closely, in a picture."""
TRIPLES = 3000
"""Number of triples of places on the figure through which circles are laid."""

FRESH = 0.8
"""Unexplained pixels of ink on each pixel of a line's length, at least: lines are no thinner."""

SOLID = 0.9
"""How much of its middle a line is drawn."""

EXTENDED = 0.08
"""How far a line may run in the ink of a circle that it touches, as a share of the picture's longer side."""

ROUND = 0.86
"""How much of its way a circle is drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedCircle:
    """A circle fitted to ink."""

    centre: complex
    radius: float

    def off(self, at: complex) -> float:
        """How far from the circle a place is."""
        return abs(abs(at - self.centre) - self.radius)


@dataclass(frozen=True, kw_only=True, slots=True)
class Strokes:
    """All lines and circles, and the ink that is neither: marks."""

    segments: tuple[LineSegment, ...]
    circles: tuple[FittedCircle, ...]
    rest: Mask


def strokes_of(ink: Ink) -> Strokes:
    """The lines and circles of the figure."""
    rows, columns = np.nonzero(ink.figure)
    places = np.stack([columns + 0.5, rows + 0.5], axis=1)
    left = np.ones(len(places), bool)
    circles: list[FittedCircle] = []
    while len(circles) < MAX_CIRCLES and (found := _circle(places[left], ink)) is not None:
        circles.append(found)
        left &= np.abs(np.hypot(*(places - _xy(found.centre)).T) - found.radius) > NEAR_PX
    segments = _lines(places, left, ink)
    segments = [_extended(one, segments, ink) for one in segments]
    rest = np.zeros_like(ink.figure)
    rest[rows[left], columns[left]] = True
    return Strokes(segments=tuple(segments), circles=tuple(circles), rest=rest)


def _lines(places: Places, left: Mask, ink: Ink) -> list[LineSegment]:
    """The straight lines in the ink that is ``left``; takes from that what they explain."""
    segments: list[LineSegment] = []
    shortest = SHORTEST * ink.side_px
    hough = HoughTransform(places[left])
    for _ in range(MAX_TRIES):
        straight = hough.strongest_line(shortest)
        if straight is None:
            return segments
        if len(segments) == MAX_LINES:
            raise ToolError(f"the image has more than {MAX_LINES} lines; crop the diagram first")
        found = _run(straight, places[left], ink.figure, shortest)
        if found is None:
            hough.exclude_last()
            continue
        segments.append(found)
        explained = left & _places_on(places, found)
        hough.remove(places[explained])
        left &= ~explained
    raise ToolError("the image has too many lines and curves that cannot be told apart; crop the diagram first")


def _circle(places: Places, ink: Ink) -> FittedCircle | None:
    """The circle that most ink lies on, if it is drawn nearly all the way round."""
    if len(places) < 60:
        return None
    generator = np.random.default_rng(0)
    a, b, c = (places[generator.integers(len(places), size=TRIPLES)] for _ in range(3))
    centres = _through(a, b, c)
    radii = np.hypot(*(centres - a).T)
    least, most = SMALLEST * ink.side_px, 0.75 * ink.side_px
    fit = np.isfinite(radii) & (radii > least) & (radii < most)
    centres, radii = centres[fit], radii[fit]
    if not len(radii):
        return None
    sample = places[:: max(1, len(places) // 500)]
    gaps = np.hypot(sample[:, None, 0] - centres[None, :, 0], sample[:, None, 1] - centres[None, :, 1])
    votes = (np.abs(gaps - radii[None]) < 1.5).sum(axis=0) / radii
    for number in np.argsort(-votes, kind="stable")[:12]:
        circle = _fit_circle(places, centres[number], float(radii[number]))
        if circle is not None and least < circle.radius < most and _drawn_share(circle, ink.figure) >= ROUND:
            return circle
    return None


def _through(a: Places, b: Places, c: Places) -> Places:
    """The centres of the circles through three places each; not finite where they lie on a line."""
    ab, ac = b - a, c - a
    twice = 2 * (ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0])
    with np.errstate(all="ignore"):
        squares_b, squares_c = (ab**2).sum(axis=1), (ac**2).sum(axis=1)
        x = (ac[:, 1] * squares_b - ab[:, 1] * squares_c) / twice
        y = (ab[:, 0] * squares_c - ac[:, 0] * squares_b) / twice
    return np.asarray(a + np.stack([x, y], axis=1))


def _fit_circle(places: Places, centre: Places, radius: float) -> FittedCircle | None:
    """The circle through the ink near it, by least squares."""
    for reach in (3.0, 2.0, 1.6):
        near = places[np.abs(np.hypot(*(places - centre).T) - radius) < reach]
        if len(near) < 30:
            return None
        table = np.column_stack([2 * near, np.ones(len(near))])
        (x, y, rest), *_ = np.linalg.lstsq(table, (near**2).sum(axis=1), rcond=None)
        centre, radius = np.array([x, y]), math.sqrt(max(0.0, rest + x * x + y * y))
    return FittedCircle(centre=complex(*centre), radius=radius)


def _drawn_share(circle: FittedCircle, figure: Mask) -> float:
    turns = np.linspace(0, 2 * math.pi, max(24, round(3 * circle.radius)), endpoint=False)
    way = circle.centre + circle.radius * np.exp(1j * turns)
    return float(is_ink(figure, way, 1.0).mean())


def is_ink(mask: Mask, at: npt.NDArray[np.complexfloating], reach: float) -> Mask:
    """Whether there is ink within ``reach`` pixels of each place, across and down."""
    found = np.zeros(at.shape, bool)
    for dx in (-reach, 0.0, reach):
        for dy in (-reach, 0.0, reach):
            x, y = np.floor(at.real + dx).astype(int), np.floor(at.imag + dy).astype(int)
            inside = (x >= 0) & (y >= 0) & (x < mask.shape[1]) & (y < mask.shape[0])
            found[inside] |= mask[y[inside], x[inside]]
    return found


def _run(line: LineSegment, places: Places, figure: Mask, shortest: float) -> LineSegment | None:
    """The drawn part of a line with the most unexplained ink; the line is fitted to that ink."""
    spots = places[:, 0] + 1j * places[:, 1]
    part = line
    for reach in (2.2, 1.8, 1.6):
        turned = (spots - line.start) * line.way.conjugate()
        near = np.abs(turned.imag) < reach
        best = _longest(line, turned.real[near], figure)
        if best is None:
            return None
        start, end = best
        chosen = spots[near & (turned.real > start - 2) & (turned.real < end + 2)]
        if len(chosen) < 4:
            return None
        middle = chosen.mean()
        spread = ((chosen - middle) ** 2).sum()
        way = np.exp(0.5j * np.angle(spread))
        ends = [line.start + at * line.way for at in (start, end)]
        one, other = (middle + ((at - middle) * way.conjugate()).real * way for at in ends)
        if abs(other - one) < 4:
            return None
        part = line = LineSegment(start=complex(one), end=complex(other))
    is_its_own = len(chosen) >= FRESH * part.length
    way = part.start + np.arange(0.0, part.length, 0.5) * part.way
    # Arcs of angles that follow each other look like a line from afar.
    is_solid = is_ink(figure, way, 0.0).mean() >= SOLID
    return part if part.length >= shortest and is_its_own and is_solid else None


def _longest(line: LineSegment, unexplained: npt.NDArray[np.float64], figure: Mask) -> tuple[float, float] | None:
    """Start and end of the piece of the line with the most unexplained ink, among those in which it is drawn."""
    if not len(unexplained):
        return None
    steps = np.arange(unexplained.min() - 8, unexplained.max() + 8, 0.5)
    drawn = is_ink(figure, line.start + steps * line.way, 0.7)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], drawn, [False]]).astype(np.int8)))
    runs: list[list[float]] = []
    for first, last in zip(edges[::2], edges[1::2]):
        start, end = float(steps[first]), float(steps[last - 1])
        if runs and start - runs[-1][1] <= MAX_GAP_PX:
            runs[-1][1] = end
        else:
            runs.append([start, end])
    if not runs:
        return None
    start, end = max(runs, key=lambda run: int(((unexplained >= run[0]) & (unexplained <= run[1])).sum()))
    ink = unexplained[(unexplained >= start - 0.5) & (unexplained <= end + 0.5)]
    # What lies beyond the unexplained ink by more than a crossing is the ink of other lines.
    return max(start, float(ink.min()) - 4), min(end, float(ink.max()) + 4)


def _extended(line: LineSegment, others: list[LineSegment], ink: Ink) -> LineSegment:
    """The line with its ends where it meets the ends of others, if it is drawn up to there in the ink of a circle."""
    start, end = line.start, line.end
    for other in others:
        if other is line or abs((line.way.conjugate() * other.way).imag) < 0.3:
            continue
        for corner in (other.start, other.end):
            beyond = line.along(corner) - line.length
            if line.off(corner) < 2.5 and 0 < beyond < EXTENDED * ink.side_px and _is_drawn(line.end, corner, ink):
                end = line.end + beyond * line.way
            beyond = -line.along(corner)
            if line.off(corner) < 2.5 and 0 < beyond < EXTENDED * ink.side_px and _is_drawn(line.start, corner, ink):
                start = line.start - beyond * line.way
    return LineSegment(start=start, end=end)


def _is_drawn(start: complex, end: complex, ink: Ink) -> bool:
    way = np.linspace(0, 1, max(2, round(2 * abs(end - start)))) * (end - start) + start
    return bool(is_ink(ink.figure, way, 0.7).mean() > 0.9)


def _places_on(places: Places, line: LineSegment) -> Mask:
    turned = (places[:, 0] + 1j * places[:, 1] - line.start) * line.way.conjugate()
    return np.asarray((np.abs(turned.imag) < NEAR_PX) & (turned.real > -2.5) & (turned.real < line.length + 2.5))


def _xy(at: complex) -> Places:
    return np.array([at.real, at.imag])
