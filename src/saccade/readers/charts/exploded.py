"""Pies whose slices stand apart: the share of each by its area, checked by the angles that the slices have then."""

import math

import cv2
import numpy as np

from saccade.geometry import Box, Point
from saccade.readers.charts.colours import Coverage, Palette, Pixels, coverage_of, without
from saccade.readers.charts.pies import Disc, Slice

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
