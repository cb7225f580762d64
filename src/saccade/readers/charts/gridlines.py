"""Tick marks and grid lines: they say more exactly than the labels' ink where the values of an axis are."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saccade.readers.charts.calibration import Direction, Scale
from saccade.readers.charts.colours import Pixels

SEARCH_PX = 4
"""How far from its label's middle a line may be."""
TICK_STRIP_PX = 16
"""Beside the labels, where the tick marks are."""
LEAST_CONTRAST = 12
GRID_SHARE, TICK_SHARE = 0.35, 0.18
"""Share of a row that a grid line covers, and of the strip that a tick mark covers."""
MAX_SPREAD_PX = 0.75
MIDDLE_PX = 0.1
"""Distance of a line's middle from its first row: drawn below the value it is nothing, drawn over it half a pixel."""


def snapped(scale: Scale, pixels: Pixels, direction: Direction) -> Scale:
    """The scale fitted to the lines that are drawn at its labels; as it was when there are none or they differ."""
    brightness = pixels.astype(np.int16).sum(axis=2) // 3
    if direction == "up":
        across, beside = brightness, int(scale.box.x2)
    else:
        across, beside = brightness.T, max(0, int(scale.box.y1) - TICK_STRIP_PX)
    strip = _lines(across[:, beside : beside + TICK_STRIP_PX], TICK_SHARE)
    plot = across[:, beside + TICK_STRIP_PX :] if direction == "up" else across[:, :beside]
    grid = _lines(plot, GRID_SHARE)
    for is_line in (grid, strip):
        found = [
            (scale.linear(tick.value), at)
            for tick in scale.ticks
            if (at := _nearest(is_line, scale.px(tick.value))) is not None
        ]
        if len(found) >= max(2, len(scale.ticks) // 2) and (better := _fitted(scale, found)) is not None:
            return better
    return scale


def _fitted(scale: Scale, found: list[tuple[float, float]]) -> Scale | None:
    """The line through most of (value or logarithm, pixel)."""
    values, px = np.array(found).T
    misses = px - (values - scale.offset) / scale.factor
    shift = float(np.median(misses))
    if float(np.median(np.abs(misses - shift))) > MAX_SPREAD_PX:
        return None
    if len(found) < 3:
        return scale.moved(shift)
    # Medians, for one of the lines may be the axis itself, which is thicker.
    first, second = np.triu_indices(len(px), k=1)
    apart = np.abs(px[first] - px[second]) > 4
    if not apart.any():
        return scale.moved(shift)
    first, second = first[apart], second[apart]
    factor = float(np.median((values[first] - values[second]) / (px[first] - px[second])))
    offset = float(np.median(values - factor * px))
    return replace(scale, factor=factor, offset=offset)


def _lines(pixels: NDArray[np.int16], share: float) -> NDArray[np.bool_]:
    """The rows that differ from those two above and two below in so much of their length."""
    is_line = np.zeros(pixels.shape[0], dtype=bool)
    if pixels.shape[1] < 4 or pixels.shape[0] < 5:
        return is_line
    middle = pixels[2:-2]
    contrast = np.minimum(np.abs(middle - pixels[:-4]), np.abs(middle - pixels[4:]))
    is_line[2:-2] = (contrast > LEAST_CONTRAST).mean(axis=1) >= share
    return is_line


def _nearest(is_line: NDArray[np.bool_], at: float) -> float | None:
    """The middle of the line that is nearest to a place."""
    first = max(0, round(at) - SEARCH_PX)
    rows = np.flatnonzero(is_line[first : round(at) + SEARCH_PX + 1]) + first
    if not len(rows):
        return None
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    middles = [float(run[0] + run[-1]) / 2 + MIDDLE_PX for run in runs]
    return min(middles, key=lambda middle: abs(middle - at))
