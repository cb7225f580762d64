"""The axes of a chart: the scales found for them, and the lines, tick marks and labels that belong to them."""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.readers.charts.bars import bars_are_horizontal
from saccade.readers.charts.calibration import LEAST_TICKS, Direction, Scale, Tick, number_of, value_scale
from saccade.readers.charts.colours import Coverage, Pixels
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine

LEAST_SHARE = 0.4
"""Least length of an axis, as a share of the picture's side."""
MAX_TICK_WIDTH_PX = 4
MAX_TICK_LENGTH_PX = 14


def without_tick_marks(pixels: Pixels) -> Pixels:
    """A copy whose left and bottom axes have no tick marks on their outer sides."""
    paper = _page(pixels)
    cleaned = _without_loose_marks(_without_marks_below(pixels, paper), paper)
    # The left axis is the bottom one of the picture turned anticlockwise.
    turned = np.rot90(cleaned, k=1)
    return np.ascontiguousarray(np.rot90(_without_marks_below(turned, paper), k=-1))


def _without_marks_below(pixels: Pixels, paper: NDArray[np.int16]) -> Pixels:
    ink = _is_ink(pixels, paper)
    axis = _lowest_line(ink)
    if axis is None or axis + 1 >= pixels.shape[0]:
        return pixels
    cleaned = pixels.copy()
    edges = _edges(np.asarray(ink[axis + 1]))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first > MAX_TICK_WIDTH_PX:
            continue
        columns = slice(first, end)
        below = ink[axis + 1 : axis + 1 + MAX_TICK_LENGTH_PX, columns].any(axis=1)
        length = below.size if below.all() else int(np.argmin(below))
        cleaned[axis + 1 : axis + 1 + length, columns] = paper.astype(np.uint8)
    return cleaned


def _without_loose_marks(pixels: Pixels, paper: NDArray[np.int16]) -> Pixels:
    """Without the tick marks of a left axis that is not drawn itself: equal short dashes below each other.

    The minus signs of numbers are such dashes too, but a digit follows each of them.
    """
    ink = _is_ink(pixels, paper)
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    marks = [
        (x, y, width, height)
        for x, y, width, height, _ in stats[1:].tolist()
        if height <= MAX_TICK_WIDTH_PX - 1
        and 3 <= width <= MAX_TICK_LENGTH_PX
        and width > height
        and not ink[max(0, y - 5) : y + height + 5, x + width : x + width + 6].any()
    ]
    cleaned = pixels.copy()
    for x, y, width, height in marks:
        if sum(abs(x + width - other_x - other_width) <= 1 for other_x, _, other_width, _ in marks) >= 3:
            cleaned[y : y + height, x : x + width] = paper.astype(np.uint8)
    return cleaned


def _lowest_line(ink: Coverage) -> int | None:
    """The last row of the lowest line that goes through much of the picture."""
    rows = np.flatnonzero(ink.sum(axis=1) >= LEAST_SHARE * ink.shape[1])
    for row in rows[::-1]:
        edges = _edges(ink[row])
        if max(end - first for first, end in zip(edges[::2], edges[1::2], strict=True)) >= LEAST_SHARE * ink.shape[1]:
            return int(row)
    return None


def _edges(row: NDArray[np.bool_]) -> list[int]:
    """Where runs of ink begin and end, in turn."""
    padded = np.concatenate([[False], row, [False]]).astype(np.int8)
    edges: list[int] = np.flatnonzero(np.diff(padded)).tolist()
    return edges


def _is_ink(pixels: Pixels, paper: NDArray[np.int16]) -> Coverage:
    """Dark and grey."""
    wide = pixels.astype(np.int16)
    is_far: Coverage = np.abs(wide - paper).max(axis=2) > 60
    is_grey: Coverage = (wide.max(axis=2) - wide.min(axis=2)) < 40
    return np.logical_and(is_far, is_grey)


def _page(pixels: Pixels) -> NDArray[np.int16]:
    """The colour of the page around the plot."""
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    page: NDArray[np.int16] = np.median(border, axis=0).astype(np.int16)
    return page


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
        if len(found) >= max(2, len(scale.ticks) // 2) and (better := _line_through_most(scale, found)) is not None:
            return better
    return scale


def _line_through_most(scale: Scale, found: list[tuple[float, float]]) -> Scale | None:
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


LEAST_AGREEMENT = 0.7
"""Share of the labels in a column that must agree, for a second axis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """The scales that were found; ``second`` stands on the right and counts otherwise than ``up``."""

    up: Scale | None
    right: Scale | None
    second: Scale | None = None


def axes_of(lines: tuple[TextLine, ...], pixels: Pixels) -> Axes:
    """The axes that are found from numbers."""
    up, second = _upright(lines, pixels)
    right = _scale(lines, pixels, "right", LEAST_TICKS)
    # Beside an axis that is sure, two numbers are enough for the other one of a scatter chart.
    if right is None and up is not None:
        right = _scale(lines, pixels, "right", 2)
        right = right if right is not None and right.box.y1 > 0.75 * pixels.shape[0] else None
    return Axes(up=up, right=right, second=second)


def _upright(lines: tuple[TextLine, ...], pixels: Pixels) -> tuple[Scale | None, Scale | None]:
    first = _scale(lines, pixels, "up", LEAST_TICKS)
    if first is None:
        return None, None
    width = pixels.shape[1]
    apart = tuple(line for line in lines if abs(line.box.center.x - first.box.center.x) > 0.35 * width)
    other = _scale(apart, pixels, "up", LEAST_TICKS)
    if other is None or other.agreement < LEAST_AGREEMENT or not _is_beside(other, first, width):
        return first, None
    left, right = sorted((first, other), key=lambda scale: scale.box.x1)
    return left, None if _agree(left, right) else right


def _is_beside(other: Scale, first: Scale, width: int) -> bool:
    """Whether both columns stand at the edges, along nearly the same rows."""
    left, right = sorted((first.box, other.box), key=lambda box: box.x1)
    shared = min(left.y2, right.y2) - max(left.y1, right.y1)
    return left.x1 < 0.3 * width and right.x2 > 0.7 * width and shared > 0.5 * max(left.height, right.height)


def _agree(left: Scale, right: Scale) -> bool:
    """Whether both columns have the same values at the same heights."""
    top, bottom = left.box.y1, left.box.y2
    reach = 0.03 * abs(left.value(top) - left.value(bottom))
    return all(abs(left.value(px) - right.value(px)) <= reach for px in (top, bottom))


def _scale(lines: tuple[TextLine, ...], pixels: Pixels, direction: Direction, least_ticks: int) -> Scale | None:
    scale = value_scale(lines, pixels, direction, least_ticks=least_ticks)
    return None if scale is None else snapped(scale, pixels, direction)


LEAST_LABELLED = 0.8
"""Share of the bars that have a label in proportion to their length."""
NEAR = 2.4
"""How far a label's middle may be from the end of its bar, in its heights, or in half its width on horizontal bars."""
MAX_MISS = 0.02
"""Share of the largest value by which a label may differ from its bar."""


def labelled_scale(layers: tuple[Layer, ...], lines: tuple[TextLine, ...]) -> Scale | None:
    """The scale on which all bars begin at zero and end at their labels; None when there is none."""
    is_horizontal = bars_are_horizontal(layers)
    boxes = [piece.box for layer in layers for piece in layer.pieces if piece.is_bar_like and piece.area >= 40]
    if len(boxes) < 3:
        return None
    foot = float(np.median([box.x1 if is_horizontal else box.y2 for box in boxes]))
    ticks = []
    for box in boxes:
        if (tick := _label(box, lines, is_horizontal=is_horizontal)) is not None:
            ticks.append(tick)
    lengths = np.array([abs(tick.at_px - foot) for tick in ticks])
    if len(ticks) < 3 or not lengths.all():
        return None
    values = np.array([tick.value for tick in ticks])
    unit = float(np.median(values / lengths))
    if unit <= 0 or len(set(values.tolist())) < 2:
        return None
    fits = np.abs(values - unit * lengths) <= MAX_MISS * values.max() + 1.5 * unit
    if fits.sum() < LEAST_LABELLED * len(boxes):
        return None
    factor = unit if is_horizontal else -unit
    ordered = tuple(sorted((tick for tick, fit in zip(ticks, fits, strict=True) if fit), key=lambda tick: tick.value))
    return Scale(factor=factor, offset=-factor * foot, ticks=ordered, agreement=float(fits.mean()))


def _label(bar: Box, lines: tuple[TextLine, ...], *, is_horizontal: bool) -> Tick | None:
    """The number that is nearest to a bar's end, in line with the bar."""
    end = bar.x2 if is_horizontal else bar.y1
    best: tuple[float, Tick] | None = None
    for line in lines:
        value = number_of(line.text)
        center = line.box.center
        across, low, high = (center.y, bar.y1, bar.y2) if is_horizontal else (center.x, bar.x1, bar.x2)
        if value is None or not low - 2 <= across <= high + 2:
            continue
        away = abs((center.x if is_horizontal else center.y) - end)
        reach = 0.5 * line.box.width + 1.2 * line.box.height if is_horizontal else 0.5 * NEAR * line.box.height
        if away <= reach and (best is None or away < best[0]):
            best = (away, Tick(value=value, at_px=end, box=line.box))
    return None if best is None else best[1]
