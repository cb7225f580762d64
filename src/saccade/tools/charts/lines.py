"""Lines: the height of each colour's stroke above the places of the categories.

A stroke is straight between two places, so each side of a place is fitted by a line of its own. That forgives markers,
dashes and other lines across, and keeps the tips of peaks: where the sides meet at a corner, the corner is the point.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.tools.charts.marks import Layer

REACH_PX = 26.0
"""How far to both sides of a place the stroke is followed."""
LEAST_COLUMNS = 4
MAX_SHIFT_PX = 6.0
"""How far the corners may be from where the names say."""
SHARP = 0.5
"""The least difference of two slopes whose crossing tells where a corner is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Side:
    """The stroke on one side of a place: its height at the place, its slope, the columns that say so."""

    height: float
    slope: float
    columns: int


def heights_at(layer: Layer, places: list[float]) -> list[float | None]:
    """The y of a stroke above each x; None where it is not drawn."""
    middles = _middles(layer)
    drawn = np.flatnonzero(~np.isnan(middles))
    if not len(drawn):
        return [None] * len(places)
    first, last = float(drawn[0]), float(drawn[-1])
    reach = _reach(places)
    return [_height(middles, place, reach) if first - 6 <= place <= last + 7 else None for place in places]


def shifted_to_corners(layers: tuple[Layer, ...], places: list[float]) -> list[float]:
    """The places, all moved by as much as the corners of the strokes are off on average; a few are needed."""
    reach = _reach(places)
    misses = []
    for layer in layers:
        middles = _middles(layer)
        for place in places:
            sides = _sides(middles, place, reach)
            if len(sides) == 2 and (corner := _corner(*sides)) is not None and abs(corner[0]) <= MAX_SHIFT_PX:
                misses.append(corner[0])
    if len(misses) < 2:
        return places
    shift = float(np.median(misses))
    return [place + shift for place in places]


def evened(places: list[float]) -> list[float]:
    """Places of names as they were meant: equal steps, where all are within a few pixels of that."""
    if len(places) < 3:
        return places
    index = np.arange(len(places))
    step, first = np.polyfit(index, places, 1)
    even = first + step * index
    return [float(place) for place in even] if float(np.abs(even - places).max()) < 6 else places


def _reach(places: list[float]) -> float:
    step = float(np.min(np.diff(places))) if len(places) > 1 else 2.0 * REACH_PX
    return max(6.0, min(REACH_PX, 0.48 * step))


def _middles(layer: Layer) -> NDArray[np.float64]:
    """Per column of the image the middle of the stroke in continuous coordinates, nan where there is none.

    Where a column holds pieces far apart, the largest counts; close ones are parted only by another line across.
    """
    coverage = layer.coverage
    middles = np.full(coverage.shape[1], np.nan)
    for column in np.flatnonzero(coverage.any(axis=0)):
        rows = np.flatnonzero(coverage[:, column])
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 14) + 1)
        run = max(runs, key=len)
        middles[column] = (run[0] + run[-1] + 1) / 2
    return middles


def _height(middles: NDArray[np.float64], place: float, reach: float) -> float | None:
    sides = _sides(middles, place, reach)
    here = middles[max(0, int(place) - 1) : int(place) + 2]
    direct = float(np.nanmedian(here)) if not np.isnan(here).all() else None
    if not sides:
        return direct
    if len(sides) == 1:
        return sides[0].height
    left, right = sides
    corner = _corner(left, right)
    if corner is not None and abs(corner[0]) <= 3:
        return corner[1]
    if abs(left.height - right.height) <= 4 or direct is None:
        return (left.height * left.columns + right.height * right.columns) / (left.columns + right.columns)
    # The sides disagree, so one of them has followed something else: what is drawn right there decides.
    return min((left.height, right.height), key=lambda height: abs(height - direct))


def _corner(left: _Side, right: _Side) -> tuple[float, float] | None:
    """Where two sides cross: how far right of the place, and at which height; None when they are nearly parallel."""
    if abs(left.slope - right.slope) < SHARP:
        return None
    offset = (right.height - left.height) / (left.slope - right.slope)
    return offset, left.height + left.slope * offset


def _sides(middles: NDArray[np.float64], place: float, reach: float) -> list[_Side]:
    found = [_side(middles, place, -1, reach), _side(middles, place, 1, reach)]
    return [side for side in found if side is not None]


def _side(middles: NDArray[np.float64], place: float, side: int, reach: float) -> _Side | None:
    """The line through most of the columns on one side of a place."""
    columns = np.floor(place + side * np.arange(2.0, reach + 1)).astype(int)
    columns = columns[(columns >= 0) & (columns < len(middles))]
    columns = columns[~np.isnan(middles[columns])]
    offsets, heights = columns + 0.5 - place, middles[columns]
    best: NDArray[np.bool_] = np.zeros(len(offsets), dtype=bool)
    least = np.inf
    for first in range(len(offsets)):
        for second in range(first + 2, len(offsets)):
            slope = (heights[second] - heights[first]) / (offsets[second] - offsets[first])
            misses = np.abs(heights - heights[first] - slope * (offsets - offsets[first]))
            agrees = misses <= 0.8 + 0.12 * abs(slope)
            total = float(misses[agrees].sum())
            if (int(agrees.sum()), -total) > (int(best.sum()), -least):
                best, least = agrees, total
    if best.sum() < LEAST_COLUMNS:
        return None
    slope, height = np.polyfit(offsets[best], heights[best], 1)
    return _Side(height=float(height), slope=float(slope), columns=int(best.sum()))
