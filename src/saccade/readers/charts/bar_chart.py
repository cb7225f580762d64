"""Charts of bars: single, grouped or stacked, upright or lying."""

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ToolError
from saccade.geometry import enclosing_box
from saccade.readers.charts.bars import BarSegment, Column, bars_lie, columns_of, slots_of
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Axis, Chart, Colour, Series
from saccade.readers.charts.layout import names_below, names_left, parted_into, parted_names, title_of
from saccade.readers.charts.legend import Legend
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine


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
    lies = bars_lie(layers)
    scale = right if lies else up
    if scale is None:
        way = "row below" if lies else "column beside"
        raise ToolError(f"no axis found: there are no three numbers in a {way} the bars that lie on a straight line")
    columns = columns_of(layers, scale, labels < 0, is_horizontal=lies)
    boxes = [segment.box for column in columns for segment in column.segments]
    plot = enclosing_box(boxes)
    if lies:
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
        is_horizontal=lies,
        categories=categories,
        series=_bar_series(slots, legend, is_single=not is_stacked and not is_grouped),
        x_axis=axis if lies else Axis(),
        y_axis=Axis() if lies else axis,
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
