"""Histograms: bars of one width side by side above an axis of numbers; a category is the range of its bin."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Axis, Chart, Series
from saccade.readers.charts.layout import title_of
from saccade.readers.charts.linearised import written
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine

LEAST_BINS = 3
MAX_GAP_PX = 3
"""Between two bars that stand side by side."""
LEVEL_PX = 1
PARTS = (1.0, 0.5, 0.25, 0.2, 0.1, 2.0)
"""Widths that a bin may have, as shares of the step between two numbers of the axis."""
LEAST_TOUCHING = 0.6
"""Share of the bins that touch the next one."""


def histogram_of(layers: tuple[Layer, ...], up: Scale, right: Scale, lines: tuple[TextLine, ...]) -> Chart | None:
    """The chart of bins; None when the one colour is not in bars of one width that touch."""
    zero = up.zero_px
    if len(layers) != 1 or zero is None or right.is_log:
        return None
    bins = _bins(layers[0], zero)
    if bins is None:
        return None
    edges = _edges(bins, right)
    if edges is None:
        return None
    names = tuple(f"{written(low)}-{written(high)}" for low, high in edges)
    series = Series(
        name="value",
        values=tuple(up.value(box.y1) - up.value(box.y2) for box in bins),
        colour=layers[0].colour,
        boxes=tuple(bins),
    )
    return Chart(
        kind="bar",
        title=title_of(lines, up.box.y1),
        categories=names,
        series=(series,),
        x_axis=Axis(ticks=tuple(tick.value for tick in right.ticks)),
        y_axis=Axis(ticks=tuple(tick.value for tick in up.ticks)),
        confidence=round(min(up.agreement, right.agreement), 3),
    )


def _bins(layer: Layer, zero: float) -> list[Box] | None:
    """The bars from left to right."""
    coverage = layer.coverage
    columns = np.flatnonzero(coverage.any(axis=0))
    if not len(columns):
        return None
    tops = coverage.argmax(axis=0).astype(float)
    foot = coverage.shape[0] - coverage[::-1].argmax(axis=0)
    if abs(float(np.median(foot[columns])) - zero) > 6:
        return None
    runs = _level_runs(columns, tops)
    widths = np.array([end - start for start, end, _ in runs], dtype=float)
    if len(runs) < LEAST_BINS:
        return None
    usual = float(np.median(widths[widths >= 0.5 * widths.max() / 4]))
    boxes: list[Box] = []
    for start, end, top in runs:
        count = round((end - start + 1) / (usual + 1))
        if count < 1 or abs((end - start + 1) / count - (usual + 1)) > max(2.5, 0.12 * usual):
            return None
        step = (end - start) / count
        boxes += [Box(start + i * step, top, start + (i + 1) * step, zero) for i in range(count)]
    touching = sum(after.x1 - before.x2 <= MAX_GAP_PX for before, after in pairwise(boxes))
    return boxes if touching >= LEAST_TOUCHING * (len(boxes) - 1) else None


def _level_runs(columns: NDArray[np.int64], tops: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Runs of columns whose upper edge is level, with their first and last column; slivers at edges are left out."""
    runs: list[list[int]] = [[int(columns[0])]]
    for before, column in pairwise(columns):
        is_level = abs(tops[column] - tops[runs[-1][0]]) <= LEVEL_PX or abs(tops[column] - tops[before]) == 0
        if column - before > 1 or not is_level:
            runs.append([])
        runs[-1].append(int(column))
    return [(run[0], run[-1] + 1, float(np.median(tops[run]))) for run in runs if len(run) >= 4]


def _edges(bins: list[Box], right: Scale) -> list[tuple[float, float]] | None:
    """The ranges of the bins, on multiples of a part of the step between two numbers; None where they are not."""
    step = float(np.median(np.diff(sorted({tick.value for tick in right.ticks}))))
    pitch = float(np.median([after.center.x - before.center.x for before, after in pairwise(bins)]))
    width = pitch * right.factor
    fitting = [step * part for part in PARTS if abs(step * part - width) < 0.06 * width]
    if not fitting:
        return None
    edges = []
    for box in bins:
        low = (right.value(box.center.x) - width / 2) / fitting[0]
        if abs(low - round(low)) > 0.2:
            return None
        edges.append((round(low) * fitting[0], (round(low) + 1) * fitting[0]))
    return edges
