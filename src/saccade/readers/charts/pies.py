"""Pies and rings: the share of the circle that each colour takes."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.readers.charts.chart import Colour
from saccade.readers.charts.colours import Coverage, Palette, Pixels, coverage_of

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
    filled = _sampled(labels == largest, disc, (0.8, 0.9, 0.96))
    beyond = _sampled(labels == largest, disc, (1.06, 1.12))
    return disc if filled.mean() > LEAST_COVERED and beyond.mean() < 0.1 else None


def slices_of(disc: Disc, pixels: Pixels, palette: Palette) -> tuple[Slice, ...]:
    """The slices clockwise. ``ToolError`` when too much of the circle has none of the picture's colours."""
    votes = np.stack([_sampled(coverage_of(pixels, c, palette), disc, RADII).sum(axis=0) for c in palette.colours])
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


def _sampled(coverage: Coverage, disc: Disc, radii: tuple[float, ...]) -> NDArray[np.bool_]:
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
