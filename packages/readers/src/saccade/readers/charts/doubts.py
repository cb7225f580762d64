"""Doubts on a chart as read: ink in no mark, marks without ink, names that are missing or hard to read."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box, Point
from saccade.readers.charts.axes import Axes
from saccade.readers.charts.calibration import Scale, number_of
from saccade.readers.charts.chart import SURE, Chart, Series
from saccade.readers.charts.layout import is_level, is_word
from saccade.readers.charts.legend import Legend
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine

DOUBTFUL = 0.5
"""The confidence of a chart of which something was not understood."""
MOST_LEFT = 0.06
"""Share of the ink of bars or markers that is in none of them."""
MOST_BESIDE = 0.12
"""Share of the ink of a line that is beside the straight strokes from value to value."""
LEAST_ON_STROKE = 0.35
"""Share of the way from value to value that has ink: dashed lines have half of it."""
LEGEND_MARGIN_PX = 8.0
LEAST_NAME = 0.92
"""The confidence with which names are read."""
SURE_ENDING = 0.97
MAX_UNEVEN = 0.2
"""Share of a step between names by which one may differ."""
IN_LINE_PX, MAX_OFF = 5.0, 1.5
"""Between the middles of two rows of a name; between a slice and its printed percentage."""
PLACEHOLDER = re.compile(r"(?:category|slice) \d+")


def with_doubts(chart: Chart, doubts: Iterable[str]) -> Chart:
    """The chart with its doubts, whose confidence is low when there are any."""
    found = tuple(dict.fromkeys((*chart.doubts, *doubts)))
    if not found and chart.confidence < SURE:
        found = ("the names or the numbers of the axes do not agree with the marks",)
    return replace(chart, confidence=min(chart.confidence, DOUBTFUL), doubts=found) if found else chart


def names_in_doubt(chart: Chart, legend: Legend, lines: tuple[TextLine, ...]) -> list[str]:
    """Doubts on the names of categories and series."""
    doubts = []
    names = list(chart.categories)
    if any(PLACEHOLDER.fullmatch(name) for name in names):
        doubts.append("the name of a category could not be read")
    if len(set(names)) < len(names):
        doubts.append("two categories have one name")
    if _are_broken(names, lines):
        doubts.append("the names of the categories may go on below")
    unsure = {line.text for line in lines if line.confidence < LEAST_NAME or _is_cut(line)}
    if unsure.intersection(names):
        doubts.append("the name of a category is hard to read")
    if len(chart.series) > 1:
        unnamed = any(series.colour is None or legend.name(series.colour) is None for series in chart.series)
        # Without a legend the series are called by their colours, unless there are texts that may be one.
        others = [line for line in lines if is_word(line) and line.text not in names and is_level(line)]
        if unnamed and (legend.names or len(others) >= len(chart.series)):
            doubts.append("a colour has no name in the legend")
        if any(line.confidence < LEAST_NAME for line in legend.lines):
            doubts.append("a name in the legend is hard to read")
    if legend.strays:
        doubts.append("a name in the legend has no colour of its own")
    drawn = {series.colour for series in chart.series} | {colour for one in chart.series for colour in one.colours}
    if any(colour not in drawn for colour, _ in legend.names):
        doubts.append("a name of the legend has no marks")
    return doubts


def _is_cut(line: TextLine) -> bool:
    """Whether a text ends as no name does, though it was read with some doubt."""
    if line.text.endswith(("…", "..")):
        return True
    return line.confidence < SURE_ENDING and not (line.text[-1].isalnum() or line.text[-1] in ")%")


def _are_broken(names: list[str], lines: tuple[TextLine, ...]) -> bool:
    """Whether texts of no other use stand right below names, as the second rows of long ones do."""
    own = [line for line in lines if line.text in names]
    others = [line for line in lines if line.text not in names and number_of(line.text) is None]
    return sum(any(_is_next_row(line, name) for name in own) for line in others) >= 2


def _is_next_row(line: TextLine, name: TextLine) -> bool:
    one, other = line.box, name.box
    is_in_line = abs(one.center.x - other.center.x) <= IN_LINE_PX or abs(one.x2 - other.x2) <= IN_LINE_PX
    return is_in_line and -0.4 * other.height <= one.y1 - other.y2 <= 0.5 * other.height


def shares_in_doubt(chart: Chart, lines: tuple[TextLine, ...]) -> list[str]:
    """Doubts on a pie whose printed percentages are not what its slices are."""
    printed = [number_of(line.text) for line in lines if line.text.endswith("%")]
    shares = sorted(value for series in chart.series for value in series.values if value is not None)
    known = sorted(value for value in printed if value is not None)
    if len(known) != len(shares) or not known:
        return []
    # A percentage may be read as its share of one.
    unit = 100 / sum(known) if sum(known) > 0 else 1.0
    is_off = any(abs(unit * one - other) > MAX_OFF for one, other in zip(known, shares, strict=True))
    return ["the percentages that are printed do not agree with the slices"] if is_off else []


def reading_in_doubt(names: list[TextLine]) -> list[str]:
    """Doubts on how names were read."""
    return ["the name of a category is hard to read"] if any(line.confidence < LEAST_NAME for line in names) else []


def steps_in_doubt(places: list[float]) -> list[str]:
    """Doubts on the names below lines, which stand at even steps: another text may be taken for one of them."""
    steps = np.diff(places)
    is_even = len(steps) < 2 or float(np.abs(steps - np.median(steps)).max()) <= MAX_UNEVEN * float(np.median(steps))
    return [] if is_even else ["the names below the lines do not stand at even steps"]


def boxes_in_doubt(chart: Chart, layers: tuple[Layer, ...]) -> list[str]:
    """Doubts on charts of bars and of points, whose ink must lie in the boxes of the values."""
    boxes = [box for series in chart.series for box in series.boxes if box is not None]
    total = sum(int(layer.coverage.sum()) for layer in layers)
    left = 0
    for layer in layers:
        rest = layer.coverage.copy()
        for box in boxes:
            rest[max(0, int(box.y1) - 3) : int(box.y2) + 4, max(0, int(box.x1) - 3) : int(box.x2) + 4] = False
        left += int(rest.sum())
    doubts = [] if left <= MOST_LEFT * total else ["something is drawn in colour that is in none of the marks"]
    if any(value is None for series in chart.series for value in series.values):
        doubts.append("some marks are missing")
    return doubts


def axes_in_doubt(axes: Axes, lines: tuple[TextLine, ...], right: float, *, is_horizontal: bool) -> list[str]:
    """Doubts on the axes: numbers among those of the axis that are none of it, or on the right of all marks."""
    doubts = []
    if axes.second is not None:
        doubts.append("there are two vertical axes, and which series belongs to which is not said")
    elif axes.up is not None and _has_numbers_beyond(axes.up, lines, right):
        doubts.append("numbers on the right were not understood")
    for scale in (axes.right,) if is_horizontal else (axes.up,):
        if scale is not None and _misses_numbers(scale, lines):
            doubts.append("a number of the axis was not understood")
    return doubts


def _misses_numbers(scale: Scale, lines: tuple[TextLine, ...]) -> bool:
    """Whether a text with digits among the labels of an axis, or next after them, is none of its numbers."""
    ticks = [tick.box for tick in scale.ticks]
    places = sorted(tick.at_px for tick in scale.ticks)
    step = min((after - before for before, after in pairwise(places)), default=0.0)
    own, is_up = scale.box, scale.factor < 0
    across, along = (4.0, 1.3 * step) if is_up else (1.3 * step, 4.0)
    box = Box(own.x1 - across, own.y1 - along, own.x2 + across, own.y2 + along)
    inside = [line.box for line in lines if box.contains(line.box.center) and any(map(str.isdigit, line.text))]
    return any(all(_is_apart(one, tick) for tick in ticks) for one in inside)


def _is_apart(one: Box, other: Box) -> bool:
    return one.x2 <= other.x1 or other.x2 <= one.x1 or one.y2 <= other.y1 or other.y2 <= one.y1


def _has_numbers_beyond(up: Scale, lines: tuple[TextLine, ...], right: float) -> bool:
    reach = 0.03 * abs(up.value(up.box.y1) - up.value(up.box.y2))
    beyond = [line for line in lines if line.box.x1 > max(right, up.box.x2) and any(map(str.isdigit, line.text))]
    values = [number_of(line.text) for line in beyond]
    others = [
        line.box
        for line, value in zip(beyond, values, strict=True)
        if value is None or abs(up.value(line.box.center.y) - value) > reach
    ]
    return any(sum(abs(box.x1 - other.x1) < 0.6 * box.height for other in others) >= 3 for box in others)


def strokes_in_doubt(chart: Chart, layers: tuple[Layer, ...], legend: Legend) -> list[str]:
    """Doubts on lines, whose ink must lie on the straight ways from value to value, and all along them."""
    doubts = []
    for series in chart.series:
        layer = next((layer for layer in layers if layer.colour == series.colour), None)
        if layer is None:
            continue
        beside, on = _beside_and_on(series, layer)
        if beside > MOST_BESIDE:
            doubts.append("a line is not straight between its names, or more is drawn than lines")
        if on < LEAST_ON_STROKE:
            doubts.append("a line could not be followed")
        if any(value is None for value in series.values):
            doubts.append("a line does not reach all names")
        around = cv2.dilate(layer.coverage.astype(np.uint8), np.ones((13, 13), np.uint8))
        points = [box.center for box in series.boxes if box is not None]
        if not all(around[min(round(p.y), around.shape[0] - 1), min(round(p.x), around.shape[1] - 1)] for p in points):
            doubts.append("a point of a line is hidden")
        if legend.box is not None and _goes_through(points, legend.box):
            doubts.append("the legend hides a part of a line")
    return doubts


def _beside_and_on(series: Series, layer: Layer) -> tuple[float, float]:
    """The share of a line's ink beside the strokes between its values, and of the strokes that have ink."""
    centers = [box.center for box in series.boxes if box is not None]
    stroke = np.zeros(layer.coverage.shape, dtype=np.uint8)
    points = np.array([[round(point.x), round(point.y)] for point in centers], dtype=np.int32)
    if len(points) < 2:
        return 1.0, 0.0
    cv2.polylines(stroke, [points.reshape(-1, 1, 2)], isClosed=False, color=1, thickness=1)
    ink: NDArray[np.bool_] = layer.coverage
    thickness = float(ink.sum()) / max(1.0, float(stroke.sum()))
    reach = 2 * int(np.clip(round(thickness / 2) + 2, 3, 7)) + 1
    near = cv2.dilate(stroke, np.ones((reach, reach), np.uint8))
    for point in centers:
        cv2.circle(near, (round(point.x), round(point.y)), 8, 1, -1)
    beside = float(ink[near == 0].sum()) / max(1.0, float(ink.sum()))
    around = cv2.dilate(ink.astype(np.uint8), np.ones((7, 7), np.uint8))
    return beside, float(around[stroke > 0].mean())


def _goes_through(points: list[Point], box: Box) -> bool:
    """Whether one of the straight ways from point to point meets a box, or nearly."""
    wide = Box(
        box.x1 - LEGEND_MARGIN_PX, box.y1 - LEGEND_MARGIN_PX, box.x2 + LEGEND_MARGIN_PX, box.y2 + LEGEND_MARGIN_PX
    )
    for one, other in pairwise(points):
        shares = np.linspace(0, 1, 40)
        xs, ys = one.x + shares * (other.x - one.x), one.y + shares * (other.y - one.y)
        if ((xs > wide.x1) & (xs < wide.x2) & (ys > wide.y1) & (ys < wide.y2)).any():
            return True
    return False
