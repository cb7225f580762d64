"""Pie charts: the share of each slice in the circle, slices moved outwards, and the names of the slices."""

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.readers.charts.chart import Chart, Colour, Series
from saccade.readers.charts.colours import Coverage, Palette, Pixels, coverage_of, without
from saccade.readers.charts.layout import title_of
from saccade.readers.charts.legend import Legend
from saccade.readers.text.lines import TextLine

ANGLES = 1440
RADII = (0.62, 0.68, 0.74, 0.8, 0.86, 0.92)
"""Shares of the radius: outside most printed shares, and on a ring too."""
LEAST_COVERED = 0.9
LEAST_SHARE = 0.008


@dataclass(frozen=True, kw_only=True, slots=True)
class Disc:
    """The circle that the slices fill."""

    center: Point
    radius: float

    @property
    def box(self) -> Box:
        return Box(
            self.center.x - self.radius,
            self.center.y - self.radius,
            self.center.x + self.radius,
            self.center.y + self.radius,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A slice, as read; angles in degrees from the x axis, clockwise."""

    colour: Colour
    start: float
    extent: float

    @property
    def middle(self) -> float:
        return (self.start + self.extent / 2) % 360


def find_disc(drawn: Coverage) -> Disc | None:
    """The one large round thing that is drawn, or None."""
    closed = cv2.morphologyEx(drawn.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    if count < 2:
        return None
    largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    x, y, width, height, area = (int(number) for number in stats[largest])
    if area < 0.04 * drawn.size or not 0.94 <= width / height <= 1.06:
        return None
    disc = Disc(center=Point(x + width / 2, y + height / 2), radius=(width + height) / 4)
    filled = _coverage_on_circles(labels == largest, disc, (0.8, 0.9, 0.96))
    beyond = _coverage_on_circles(labels == largest, disc, (1.06, 1.12))
    return disc if filled.mean() > LEAST_COVERED and beyond.mean() < 0.1 else None


def slices_of(disc: Disc, pixels: Pixels, palette: Palette) -> tuple[Slice, ...]:
    """The slices clockwise. ``ToolError`` when too much of the circle has none of the picture's colours."""
    votes = np.stack(
        [_coverage_on_circles(coverage_of(pixels, c, palette), disc, RADII).sum(axis=0) for c in palette.colours]
    )
    winner = np.where(votes.max(axis=0) >= 2, votes.argmax(axis=0), -1)
    if (winner >= 0).mean() < LEAST_COVERED:
        raise ToolError("the slices of the pie could not be told apart: too much of it has no flat colour")
    winner = _smoothed(_filled(winner))
    starts = np.flatnonzero(winner != np.roll(winner, 1))
    if not len(starts):
        return (Slice(colour=palette.colours[int(winner[0])], start=0.0, extent=360.0),)
    lengths = np.diff([*starts, starts[0] + ANGLES])
    step = 360 / ANGLES
    return tuple(
        Slice(colour=palette.colours[int(winner[start])], start=float(start * step), extent=float(length * step))
        for start, length in zip(starts, lengths, strict=True)
    )


def _coverage_on_circles(coverage: Coverage, disc: Disc, radii: tuple[float, ...]) -> NDArray[np.bool_]:
    """Coverage along circles, (radius, angle); outside the picture nothing is covered."""
    angles = (np.arange(ANGLES) + 0.5) * (2 * np.pi / ANGLES)
    reach = np.array(radii)[:, None] * disc.radius
    x = np.floor(disc.center.x + reach * np.cos(angles)).astype(int)
    y = np.floor(disc.center.y + reach * np.sin(angles)).astype(int)
    height, width = coverage.shape
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    sampled: NDArray[np.bool_] = inside & coverage[y.clip(0, height - 1), x.clip(0, width - 1)]
    return sampled


def _filled(winner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Angles without a colour, as on the white edges between slices, go to the nearer neighbour."""
    known = np.flatnonzero(winner >= 0)
    around = np.concatenate([known - ANGLES, known, known + ANGLES])
    angles = np.arange(ANGLES)
    after = np.searchsorted(around, angles)
    before = np.clip(after - 1, 0, len(around) - 1)
    after = np.clip(after, 0, len(around) - 1)
    is_nearer = (angles - around[before]) <= (around[after] - angles)
    nearest = np.where(is_nearer, around[before], around[after]) % ANGLES
    filled: NDArray[np.int64] = winner[nearest]
    return filled


def _smoothed(winner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Runs that are too short for a slice go to the run before them."""
    smooth = winner.copy()
    least = int(LEAST_SHARE * ANGLES)
    for _ in range(64):
        starts = np.flatnonzero(smooth != np.roll(smooth, 1))
        if len(starts) < 2:
            break
        lengths = np.diff([*starts, starts[0] + ANGLES])
        shortest = int(np.argmin(lengths))
        if lengths[shortest] >= least:
            break
        run = (starts[shortest] + np.arange(lengths[shortest])) % ANGLES
        half = len(run) // 2
        smooth[run[:half]] = smooth[(starts[shortest] - 1) % ANGLES]
        smooth[run[half:]] = smooth[(run[-1] + 1) % ANGLES]
    return smooth


LEAST_AREA = 0.004
"""Least area of a slice, as a share of the picture."""
MOST_FILLED = 0.9
MAX_MISS = 0.05
"""How far the angles of all slices may be from the full circle."""


def exploded_slices(pixels: Pixels, palette: Palette, hidden: tuple[Box, ...]) -> tuple[Disc, tuple[Slice, ...]] | None:
    """The slices and the circle around them; None when the large pieces are no slices of one circle."""
    pieces = []
    for colour in palette.colours:
        for piece in _large(without(coverage_of(pixels, colour, palette), hidden)):
            pieces.append((colour, piece))
    if len(pieces) < 2 or any(_is_block(piece) for _, piece in pieces):
        return None
    drawn = np.logical_or.reduce([piece for _, piece in pieces])
    rows, columns = np.nonzero(drawn)
    center = Point(float(columns.min() + columns.max()) / 2, float(rows.min() + rows.max()) / 2)
    radius = _common_radius([piece for _, piece in pieces], center)
    if radius is None:
        return None
    found = []
    for colour, piece in pieces:
        rows, columns = np.nonzero(piece)
        extent = math.degrees(2 * len(rows) / radius**2)
        middle = math.degrees(math.atan2(rows.mean() - center.y, columns.mean() - center.x))
        found.append(Slice(colour=colour, start=(middle - extent / 2) % 360, extent=extent))
    total = sum(part.extent for part in found)
    if abs(total - 360) > MAX_MISS * 360:
        return None
    outer = max(math.hypot(x - center.x, y - center.y) for y, x in zip(*np.nonzero(drawn), strict=True))
    return Disc(center=center, radius=outer), tuple(sorted(found, key=lambda part: part.start))


def _large(coverage: Coverage) -> list[Coverage]:
    """The large pieces of one colour, printed numbers in them filled in."""
    closed = cv2.morphologyEx(coverage.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    pieces = []
    for contour in contours:
        if cv2.contourArea(contour) >= LEAST_AREA * coverage.size:
            filled = np.zeros(coverage.shape, dtype=np.uint8)
            cv2.drawContours(filled, [contour], -1, 1, -1)
            pieces.append(filled > 0)
    return pieces


def _is_block(piece: Coverage) -> bool:
    """Whether a piece fills its box, as bars do; of its box a slice fills at most what a quarter of a disc does."""
    rows, columns = np.nonzero(piece)
    return bool(len(rows) > MOST_FILLED * (np.ptp(rows) + 1) * (np.ptp(columns) + 1))


def _common_radius(pieces: list[Coverage], center: Point) -> float | None:
    """The radius that all slices share: the median over slices of the way from the tip to the arc."""
    radii = []
    for piece in pieces:
        rows, columns = np.nonzero(piece)
        away = np.hypot(columns - center.x, rows - center.y)
        tip = int(away.argmin())
        radii.append(float(np.percentile(np.hypot(columns - columns[tip], rows - rows[tip]), 99.5)))
    radius = float(np.median(radii))
    return radius if max(abs(one - radius) for one in radii) <= 0.12 * radius else None


def pie_of(disc: Disc, slices: tuple[Slice, ...], legend: Legend, lines: tuple[TextLine, ...]) -> Chart:
    """The chart of a disc that was found; the legend's lines are not among ``lines``."""
    names, is_sure = _slice_names(disc, slices, legend, lines)
    total = sum(part.extent for part in slices)
    shares = tuple(100 * part.extent / total for part in slices)
    series = Series(
        name="share",
        values=shares,
        colours=tuple(part.colour for part in slices),
        boxes=tuple(_slice_box(disc, part) for part in slices),
    )
    return Chart(
        kind="pie",
        title=title_of(lines, disc.box.y1 - 0.35 * disc.radius),
        categories=tuple(names),
        series=(series,),
        confidence=round(0.95 if is_sure else 0.6, 3),
    )


def _slice_names(
    disc: Disc, slices: tuple[Slice, ...], legend: Legend, lines: tuple[TextLine, ...]
) -> tuple[list[str], bool]:
    """The names in the slices' order, and whether all were read; one that was not is called by its number."""
    named = [legend.name(part.colour) for part in slices]
    if all(named):
        return [name or "" for name in named], True
    # Printed shares stand in the slices or beside the names, and a title is higher than any name.
    top = disc.box.y1 - 0.2 * disc.radius
    texts = [line for line in lines if not line.text.endswith("%") and line.box.y2 > top]
    texts = [line for line in texts if _reach(disc, line.box) < 1.75]
    outside = [line for line in texts if _reach(disc, line.box) > 0.9]
    texts = outside if len(outside) >= len(slices) else texts
    turns = [
        (_turn(_angle(disc, line.box), part.middle), place, number)
        for place, line in enumerate(texts)
        for number, part in enumerate(slices)
    ]
    names: dict[int, str] = {}
    used: set[int] = set()
    for turn, place, number in sorted(turns):
        if place not in used and number not in names and turn <= max(12.0, slices[number].extent / 2):
            names[number] = texts[place].text
            used.add(place)
    return [names.get(number, f"slice {number + 1}") for number in range(len(slices))], len(names) == len(slices)


def _reach(disc: Disc, box: Box) -> float:
    return math.hypot(box.center.x - disc.center.x, box.center.y - disc.center.y) / disc.radius


def _angle(disc: Disc, box: Box) -> float:
    return math.degrees(math.atan2(box.center.y - disc.center.y, box.center.x - disc.center.x)) % 360


def _turn(one: float, other: float) -> float:
    return abs((one - other + 180) % 360 - 180)


def _slice_box(disc: Disc, part: Slice) -> Box:
    """Around the slice's arc and the centre."""
    angles = np.radians(part.start + np.linspace(0, part.extent, 32))
    xs = [disc.center.x, *(disc.center.x + disc.radius * np.cos(angles))]
    ys = [disc.center.y, *(disc.center.y + disc.radius * np.sin(angles))]
    return Box(float(min(xs)), float(min(ys)), float(max(xs)), float(max(ys)))
