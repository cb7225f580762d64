"""Lines: the height of each colour's stroke above the places of the categories.

A stroke is straight between two places, so each side of a place is fitted by a line of its own. That forgives markers,
dashes and other lines across, and keeps the tips of peaks: where the sides meet at a corner, the corner is the point.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Point
from saccade.readers.charts.chart import Colour
from saccade.readers.charts.marks import Layer, layer_of

REACH_PX = 26.0
"""How far to both sides of a place the stroke is followed."""
LEAST_COLUMNS = 4
MAX_SHIFT_PX = 6.0
"""How far the corners may be from where the names say."""
MAX_HANG = 0.4
"""Share of a step between names aslant by which their places may be beside them."""
MAX_APART_PX = 2.5
"""Between two colours of one line."""
END_PX = 8.0
"""How far the end of a stroke may be from what is drawn there: more, and it followed something else."""
CENTRED_PX = 0.8
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
    heights: list[float | None] = []
    markers = [None if marker is None else marker.y for marker in _markers(layer, places)]
    for place, marker in zip(places, markers, strict=True):
        is_drawn = first - 6 <= place <= last + 7
        heights.append(_height(middles, place, reach, marker) if is_drawn else None)
    if not _are_centred(markers, heights):
        return heights
    return [height if marker is None else marker for height, marker in zip(heights, markers, strict=True)]


def _are_centred(markers: list[float | None], heights: list[float | None]) -> bool:
    """Whether the markers lie where the strokes meet, as discs and squares do and triangles do not."""
    pairs = zip(markers, heights, strict=True)
    apart = [abs(marker - height) for marker, height in pairs if marker is not None and height is not None]
    return len(apart) >= 3 and float(np.median(apart)) <= CENTRED_PX


def _markers(layer: Layer, places: list[float]) -> list[Point | None]:
    """The middle of a marker at each place; all None for a stroke without markers.

    Markers are where the stroke is thicker than between the places, whatever its slope there.
    """
    depth = cv2.distanceTransform(layer.coverage.astype(np.uint8), cv2.DIST_L2, 5)
    ridge = depth.max(axis=0)
    near = np.zeros(len(ridge), dtype=bool)
    for place in places:
        near[max(0, int(place) - 9) : int(place) + 10] = True
    between = ridge[(ridge > 0) & ~near]
    usual = float(np.median(between)) if len(between) else np.inf
    found: list[Point | None] = []
    for place in places:
        left = max(0, int(place - MAX_SHIFT_PX))
        region = depth[:, left : int(place + MAX_SHIFT_PX) + 1]
        peak = float(region.max()) if region.size else 0.0
        if peak < max(1.4 * usual, 2.0):
            found.append(None)
            continue
        row, column = np.unravel_index(int(region.argmax()), region.shape)
        found.append(_center(layer, int(row), left + int(column), peak))
    return found if sum(marker is not None for marker in found) >= 0.6 * len(places) else [None] * len(places)


def _center(layer: Layer, row: int, column: int, radius: float) -> Point:
    """The middle of the marker around a pixel: of what is left there when the strokes, which are thinner, are not."""
    reach = int(2 * radius) + 4
    top, left = max(0, row - reach), max(0, column - reach)
    crop = layer.coverage[top : row + reach, left : column + reach].astype(np.uint8)
    side = max(3, (int(2 * radius) - 1) | 1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
    opened = cv2.morphologyEx(crop, cv2.MORPH_OPEN, disc, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    _, pieces = cv2.connectedComponents(opened)
    own = pieces[row - top, column - left]
    if own == 0:
        return Point(column + 0.5, row + 0.5)
    rows, columns = np.nonzero(pieces == own)
    return Point(left + float(columns.mean()) + 0.5, top + float(rows.mean()) + 0.5)


def moved_to_corners(layers: tuple[Layer, ...], places: list[float]) -> list[float]:
    """The places at even steps that fit the markers, or else the corners of the strokes, best; a few are needed.

    A name's middle is known to some pixels only, and where a stroke is steep each of them counts many times.
    """
    reach = _reach(places)
    corners: list[tuple[int, float]] = []
    for layer in layers:
        markers = _markers(layer, places)
        corners += [(i, marker.x - places[i]) for i, marker in enumerate(markers) if marker is not None]
        if any(markers):
            continue
        middles = _middles(layer)
        for index, place in enumerate(places):
            sides = _sides(middles, place, reach)
            if len(sides) == 2 and (corner := _corner(*sides)) is not None and abs(corner[0]) <= MAX_SHIFT_PX:
                corners.append((index, corner[0]))
    if len(corners) < 2:
        return places
    numbers = np.array([number for number, _ in corners], dtype=float)
    misses = np.array([miss for _, miss in corners])
    shift = float(np.median(misses))
    apart = np.abs(numbers[:, None] - numbers[None, :])
    if len(corners) < 4 or len(set(numbers.tolist())) < 3:
        return [place + shift for place in places]
    slopes = (misses[:, None] - misses[None, :])[apart > 0] / (numbers[:, None] - numbers[None, :])[apart > 0]
    slope = float(np.median(slopes))
    start = float(np.median(misses - slope * numbers))
    return [place + start + slope * number for number, place in enumerate(places)]


def without_doubles(layers: tuple[Layer, ...], places: list[float], named: set[Colour]) -> tuple[Layer, ...]:
    """The layers, those that no name belongs to joined with the named one along which they run.

    The markers of a line, or its mixture with what is below it, may have a colour of their own.
    """
    kept = {layer.colour: layer for layer in layers if layer.colour in named}
    others = [layer for layer in layers if layer.colour not in named]
    for layer in others:
        heights = heights_at(layer, places)
        twin = next((one for one in kept.values() if _run_together(heights, heights_at(one, places))), None)
        joined = layer if twin is None else layer_of(twin.coverage | layer.coverage, twin.colour)
        kept[joined.colour] = joined
    return tuple(kept.values())


def _run_together(one: list[float | None], other: list[float | None]) -> bool:
    apart = [abs(a - b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return len(apart) >= max(3, 0.6 * len(one)) and max(apart) <= MAX_APART_PX


def moved_to_ends(layers: tuple[Layer, ...], places: list[float]) -> list[float]:
    """The places moved together so that the lines begin at the first and end at the last, where that is near.

    A name aslant hangs below its place by its end, its middle or something between.
    """
    drawn = np.flatnonzero(np.logical_or.reduce([layer.coverage for layer in layers]).any(axis=0))
    if len(places) < 3 or not len(drawn):
        return places
    first, last = drawn[0] - places[0], drawn[-1] + 1 - places[-1]
    is_near = abs(first + last) / 2 < MAX_HANG * float(np.median(np.diff(places)))
    return [place + (first + last) / 2 for place in places] if is_near and abs(last - first) <= 2 * END_PX else places


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


def _height(middles: NDArray[np.float64], place: float, reach: float, marker: float | None) -> float | None:
    """By the corner where the sides meet, else where they agree, else what is drawn right there decides."""
    here = middles[max(0, int(place) - 1) : int(place) + 2]
    direct = float(np.nanmedian(here)) if not np.isnan(here).all() else None
    middle = direct if marker is None else marker
    sides = _sides(middles, place, reach)
    if not sides:
        return middle
    if len(sides) == 1:
        # A marker of another shape than a disc is not centred on its value, so the stroke goes first.
        side = sides[0].height
        if marker is None and direct is not None:
            # Beside the end of a stroke an axis may have left a spot.
            middle = min((float(y) for y in here if not np.isnan(y)), key=lambda y: abs(y - side))
        return side if middle is None or abs(side - middle) <= END_PX else middle
    left, right = sides
    corner = _corner(left, right)
    if corner is not None and abs(corner[0]) <= 3 and (marker is None or abs(corner[1] - marker) <= END_PX):
        return corner[1]
    if abs(left.height - right.height) <= 4 or middle is None:
        return (left.height * left.columns + right.height * right.columns) / (left.columns + right.columns)
    if marker is not None:
        return marker
    return min((left.height, right.height), key=lambda height: abs(height - middle))


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
