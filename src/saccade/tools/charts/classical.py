"""Reads drawn charts without a model: colours, connected pieces, character recognition and a robust fit of the axes.

It reads bars (single, grouped, stacked, upright or lying), lines, pies and rings, and scatter charts of flat colours
on a light or grey paper, with linear axes that carry at least three numbers. Grey lines, logarithmic axes, hatching,
photographs and JPEG noise are beyond it. It says which step failed and makes no number up.
"""

from dataclasses import replace

import numpy as np
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, enclosing_box
from saccade.tools.charts.bar_chart import bar_chart
from saccade.tools.charts.calibration import LEAST_TICKS, Direction, Scale, value_scale
from saccade.tools.charts.chart import Axis, Chart, Series
from saccade.tools.charts.colours import Palette, Pixels, coverage_of, labels_of, palette_of, without
from saccade.tools.charts.gridlines import snapped
from saccade.tools.charts.layout import (
    Legend,
    find_legend,
    names_below,
    parted_names,
    real_texts,
    title_of,
    with_gaps_named,
    without_legend,
)
from saccade.tools.charts.lines import evened, heights_at, moved_to_corners
from saccade.tools.charts.marks import Layer, kind_of, layer_of
from saccade.tools.charts.pie_names import pie_of
from saccade.tools.charts.pies import find_disc
from saccade.tools.charts.scatter import markers_of
from saccade.tools.charts.spines import without_tick_marks
from saccade.tools.images import bounded
from saccade.tools.reading.contract import TextLine, TextReader, scaled

MAX_SIDE_PX = 1600
"""Larger pictures are shrunk before they are read."""
MIN_SIDE_PX = 64


class ClassicalReader:
    """A ``ChartReader`` over an engine of character recognition."""

    def __init__(self, text_reader: TextReader) -> None:
        self._text_reader = text_reader

    def read(self, image: Image.Image) -> Chart:
        if min(image.size) < MIN_SIDE_PX:
            raise ToolError(f"the image is smaller than {MIN_SIDE_PX} px; no chart can be read in it")
        shown, _ = bounded(image.convert("RGB"), MAX_SIDE_PX)
        scale = image.width / shown.width
        pixels = np.asarray(shown)
        lines = self._text_reader.read(Image.fromarray(without_tick_marks(pixels)))
        chart = _Drawing(pixels, lines).chart()
        return chart if scale == 1 else _enlarged(chart, scale)


class _Drawing:
    """One picture on its way to a chart."""

    def __init__(self, pixels: Pixels, lines: tuple[TextLine, ...]) -> None:
        self.pixels = pixels
        self.palette: Palette = palette_of(pixels)
        if not self.palette.colours:
            raise ToolError("no chart found: the image has no areas of a flat colour")
        lines = real_texts(lines, pixels, self.palette)
        self.legend: Legend = find_legend(lines, pixels, self.palette)
        self.lines = without_legend(lines, self.legend)
        self.labels = labels_of(pixels, self.palette)

    def chart(self) -> Chart:
        coverage = np.zeros(self.pixels.shape[:2], dtype=bool)
        for colour in self.palette.colours:
            coverage |= coverage_of(self.pixels, colour, self.palette)
        hidden = (self.legend.box,) if self.legend.box else ()
        disc = find_disc(without(coverage, hidden))
        return self._plot() if disc is None else pie_of(disc, self.pixels, self.palette, self.legend, self.lines)

    def _plot(self) -> Chart:
        up, right = self._axis("up"), self._axis("right")
        if up is None and right is None:
            raise ToolError(
                "no axis found: there are no three numbers in a column or a row that lie on a straight line, and the "
                "image shows no pie"
            )
        # Beside an axis that is sure, two numbers are enough for the other one of a scatter chart.
        if right is None and up is not None:
            right = self._axis("right", 2)
            right = right if right is not None and right.box.y1 > 0.75 * self.pixels.shape[0] else None
        layers = self._layers(up, right)
        left = up.box.x2 if up is not None else 0.0
        kind = kind_of(layers, self.pixels.shape[1] - left, has_number_axes=up is not None and right is not None)
        if kind == "bar":
            return bar_chart(layers, up, right, lines=self.lines, labels=self.labels, legend=self.legend)
        if kind == "unknown":
            raise ToolError("the marks of the chart are neither bars nor lines nor points of flat colours")
        if up is None:
            raise ToolError("no vertical axis found: there are no three numbers in a column that lie on a line")
        if kind == "scatter" and right is not None:
            return self._scatter(layers, up, right)
        return self._lines(layers, up)

    def _axis(self, direction: Direction, least_ticks: int = LEAST_TICKS) -> Scale | None:
        scale = value_scale(self.lines, self.pixels, direction, least_ticks=least_ticks)
        return None if scale is None else snapped(scale, self.pixels, direction)

    def _layers(self, up: Scale | None, right: Scale | None) -> tuple[Layer, ...]:
        """What is drawn in each colour between the axes."""
        height, width = self.pixels.shape[:2]
        hidden = [self.legend.box] if self.legend.box else []
        if up is not None:
            hidden.append(Box(0, 0, up.box.x2, height))
        if right is not None:
            hidden.append(Box(0, right.box.y1, width, height))
        layers = []
        for colour in self.palette.colours:
            coverage = without(coverage_of(self.pixels, colour, self.palette), tuple(hidden))
            layer = layer_of(coverage, colour)
            if layer.pieces:
                layers.append(layer)
        named = [layer for layer in layers if self.legend.name(layer.colour) is not None]
        if not layers:
            raise ToolError("no marks found: nothing is drawn in colour between the axes")
        # A legend names all that counts, but one of its entries may be unread; without one, specks are no series.
        most = max(layer.area for layer in layers)
        usual = sorted(layer.area for layer in named)[len(named) // 2] if len(named) >= 2 else 0
        least = max(0.03 * most, 0.3 * usual)
        return tuple(layer for layer in layers if layer in named or layer.area >= least)

    def _lines(self, layers: tuple[Layer, ...], up: Scale) -> Chart:
        boxes = [piece.box for layer in layers for piece in layer.pieces]
        plot = enclosing_box(boxes)
        bottom = max(plot.y2, max(tick.at_px for tick in up.ticks))
        names = parted_names(names_below(self.lines, bottom, plot.x1, plot.x2))
        names = [line for line in names if line.box.center.x >= plot.x1 - 6 and line.box.center.x <= plot.x2 + 6]
        names = with_gaps_named(names)
        if not names:
            raise ToolError("no names found below the horizontal axis, so the points of the lines cannot be told")
        places = evened([line.box.center.x for line in names])
        places = moved_to_corners(layers, places)
        series = []
        for colour in self.legend.in_order([layer.colour for layer in layers]):
            layer = next(layer for layer in layers if layer.colour == colour)
            heights = heights_at(layer, places)
            values = tuple(None if y is None else up.value(y) for y in heights)
            points = tuple(
                None if y is None else Box(x - 4, y - 4, x + 4, y + 4) for x, y in zip(places, heights, strict=True)
            )
            series.append(Series(name=self.legend.series_name(colour), values=values, colour=colour, boxes=points))
        return Chart(
            kind="line",
            title=title_of(self.lines, min(plot.y1, up.box.y1)),
            categories=tuple(line.text for line in names),
            series=tuple(series),
            y_axis=Axis(ticks=tuple(tick.value for tick in up.ticks)),
            confidence=up.confidence(len(names), len(names)),
        )

    def _scatter(self, layers: tuple[Layer, ...], up: Scale, right: Scale) -> Chart:
        series = []
        for colour in self.legend.in_order([layer.colour for layer in layers]):
            boxes = markers_of(next(layer for layer in layers if layer.colour == colour))
            if boxes:
                xs = tuple(right.value(box.center.x) for box in boxes)
                ys = tuple(up.value(box.center.y) for box in boxes)
                series.append(
                    Series(name=self.legend.series_name(colour), values=ys, xs=xs, colour=colour, boxes=tuple(boxes))
                )
        if not series:
            raise ToolError("no points found between the axes")
        return Chart(
            kind="scatter",
            title=title_of(self.lines, up.box.y1),
            series=tuple(series),
            x_axis=Axis(ticks=tuple(tick.value for tick in right.ticks)),
            y_axis=Axis(ticks=tuple(tick.value for tick in up.ticks)),
            confidence=round(min(up.agreement, right.agreement), 3),
        )


def _enlarged(chart: Chart, scale: float) -> Chart:
    """The chart with its places in a picture that is ``scale`` times as large."""
    series = tuple(
        replace(one, boxes=tuple(None if box is None else scaled(box, scale) for box in one.boxes))
        for one in chart.series
    )
    return replace(chart, series=series)
