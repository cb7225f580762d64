"""Bar charts (single, grouped or stacked, upright or horizontal) and histograms, from the bars that were found."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ToolError
from saccade.geometry import Box, enclosing_box
from saccade.readers.charts.bars import BarSegment, Column, bars_are_horizontal, columns_of, slots_of
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Axis, Chart, Colour, Series
from saccade.readers.charts.layout import names_below, names_left, parted_into, parted_names, title_of
from saccade.readers.charts.legend import Legend
from saccade.readers.charts.marks import Layer
from saccade.readers.charts.table import value_text
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
    names = tuple(f"{value_text(low)}-{value_text(high)}" for low, high in edges)
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


def bar_chart(
    layers: tuple[Layer, ...],
    up: Scale | None,
    right: Scale | None,
    *,
    lines: tuple[TextLine, ...],
    labels: NDArray[np.int16],
    legend: Legend,
) -> Chart:
    """The chart of bars in these layers; ToolError where they have no axis.

    ``lines`` are the texts outside the legend, ``labels`` those of ``colours.labels_of``.
    """
    is_horizontal = bars_are_horizontal(layers)
    scale = right if is_horizontal else up
    if scale is None:
        way = "row below" if is_horizontal else "column beside"
        raise ToolError(f"no axis found: there are no three numbers in a {way} the bars that lie on a straight line")
    columns = columns_of(layers, scale, labels < 0, is_horizontal=is_horizontal)
    boxes = [segment.box for column in columns for segment in column.segments]
    plot = enclosing_box(boxes)
    if is_horizontal:
        names = names_left(lines, min(box.x1 for box in boxes), plot.y1, plot.y2)
        centers = [line.box.center.y for line in names]
    else:
        zero = scale.zero_px
        foot = zero if zero is not None and abs(zero - plot.y2) < 30 else plot.y2
        names = parted_names(names_below(lines, foot, plot.x1, plot.x2))
        names = parted_into(names, len(columns))
        centers = [line.box.center.x for line in names]
    slots = slots_of(columns, centers)
    categories = _slot_names(slots, names, centers)
    is_stacked = any(len(column.segments) > 1 for column in columns)
    is_grouped = not is_stacked and max(len(slot) for slot in slots) > 1
    axis = Axis(label="", ticks=tuple(tick.value for tick in scale.ticks))
    return Chart(
        kind="bar",
        title=title_of(lines, min(plot.y1, up.box.y1 if up else plot.y1)),
        arrangement="stacked" if is_stacked else "grouped" if is_grouped else "single",
        is_horizontal=is_horizontal,
        categories=categories,
        series=_bar_series(slots, legend, is_single=not is_stacked and not is_grouped),
        x_axis=axis if is_horizontal else Axis(),
        y_axis=Axis() if is_horizontal else axis,
        confidence=round(scale.agreement, 3),
    )


def _bar_series(slots: list[list[Column]], legend: Legend, *, is_single: bool) -> tuple[Series, ...]:
    if is_single:
        bars = [slot[0].segments[0] if slot else None for slot in slots]
        return (_series("value", bars, None),)
    order = [segment.colour for slot in slots for column in slot for segment in column.segments]
    series = []
    for colour in legend.in_order(list(dict.fromkeys(order))):
        bars = [_segment(slot, colour) for slot in slots]
        series.append(_series(legend.series_name(colour), bars, colour))
    return tuple(series)


def _segment(slot: list[Column], colour: Colour) -> BarSegment | None:
    return next((part for column in slot for part in column.segments if part.colour == colour), None)


def _series(name: str, bars: list[BarSegment | None], colour: Colour | None) -> Series:
    colours = tuple(None if bar is None else bar.colour for bar in bars)
    only = {each for each in colours if each is not None}
    return Series(
        name=name,
        values=tuple(None if bar is None else bar.value for bar in bars),
        colour=only.pop() if len(only) == 1 else colour,
        colours=colours if len(only) > 1 else (),
        boxes=tuple(None if bar is None else bar.box for bar in bars),
    )


def _slot_names(slots: list[list[Column]], names: list[TextLine], centers: list[float]) -> tuple[str, ...]:
    """The names of the slots; one that could not be read is called by its number."""
    if len(names) == len(slots):
        return tuple(line.text for line in names)
    middles = [float(np.mean([column.center_px for column in slot])) for slot in slots]
    widths = [float(np.mean([column.segments[0].box.width for column in slot])) * len(slot) for slot in slots]
    reaches = [max(12.0, 0.6 * width) for width in widths]
    found: dict[int, str] = {}
    used: set[int] = set()
    pairs = [(abs(center - middles[s]), s, n) for s in range(len(slots)) for n, center in enumerate(centers)]
    for away, slot_number, name in sorted(pairs):
        if slot_number not in found and name not in used and away < reaches[slot_number]:
            found[slot_number] = names[name].text
            used.add(name)
    return tuple(found.get(number, f"category {number + 1}") for number in range(len(slots)))
