"""Reads drawn charts without a model: colours, connected pieces, character recognition and a robust fit of the axes.

It reads bars (single, grouped, stacked, upright or lying, on axes that begin anywhere, or with printed values and no
axis), lines, areas, histograms, pies, rings and slices that stand apart, and scatter charts, of flat colours on a
paper of any brightness, with linear or logarithmic axes that carry at least three numbers. Several black lines,
photographs and JPEG noise are beyond it. It says which step failed and makes no number up; what it saw and did not
understand makes its confidence low, and is told in ``Chart.doubts``.
"""

from dataclasses import replace

import numpy as np
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, enclosing_box
from saccade.pictures import bounded
from saccade.readers.charts.areas import are_areas, area_chart
from saccade.readers.charts.axes import Axes, axes_of, labelled_scale, without_tick_marks
from saccade.readers.charts.bar_chart import bar_chart, histogram_of
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Axis, Chart, Series
from saccade.readers.charts.colours import (
    Palette,
    Pixels,
    coverage_of,
    is_greyish,
    labels_of,
    palette_of,
    stroke_coverage_of,
    without,
    without_axis,
    without_frame,
    without_text,
)
from saccade.readers.charts.doubts import (
    axes_in_doubt,
    boxes_in_doubt,
    names_in_doubt,
    reading_in_doubt,
    shares_in_doubt,
    steps_in_doubt,
    strokes_in_doubt,
    with_doubts,
)
from saccade.readers.charts.layout import is_word, names_below, parted_names, real_texts, title_of, with_gaps_named
from saccade.readers.charts.legend import Legend, find_legend, without_legend
from saccade.readers.charts.lines import evened, heights_at, moved_to_corners, moved_to_ends, without_doubles
from saccade.readers.charts.marks import Layer, is_stroke_layer, is_thin, kind_of, layer_of, markers_of
from saccade.readers.charts.pies import exploded_slices, find_disc, pie_of, slices_of
from saccade.readers.charts.rereading import is_aslant, named_again, read_twice, sharpened, slanted_row
from saccade.readers.text.lines import TextLine, TextReader, scaled

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
        chart = _Drawing(pixels, lines, self._text_reader).chart()
        return chart if scale == 1 else _enlarged(chart, scale)


class _Drawing:
    """One picture on its way to a chart."""

    def __init__(self, pixels: Pixels, lines: tuple[TextLine, ...], text_reader: TextReader) -> None:
        self.pixels = pixels
        self.text_reader = text_reader
        texts = tuple(line.box for line in lines if is_word(line))
        self.palette: Palette = without_text(palette_of(pixels), pixels, texts)
        if not self.palette.colours:
            raise ToolError("no chart found: the image has no areas of a flat colour")
        lines = sharpened(real_texts(lines, pixels, self.palette), pixels, text_reader)
        self.legend: Legend = find_legend(lines, pixels, self.palette)
        self.lines = without_legend(lines, self.legend)
        self.labels = labels_of(pixels, self.palette)

    def chart(self) -> Chart:
        coverage = np.zeros(self.pixels.shape[:2], dtype=bool)
        for colour in self.palette.colours:
            coverage |= coverage_of(self.pixels, colour, self.palette)
        hidden = (self.legend.box,) if self.legend.box else ()
        disc = find_disc(without(coverage, hidden))
        if disc is not None:
            return self._with_name_doubts(
                pie_of(disc, slices_of(disc, self.pixels, self.palette), self.legend, self.lines)
            )
        axes = axes_of(self.lines, self.pixels)
        if axes.up is None and axes.right is None:
            apart = exploded_slices(self.pixels, self.palette, hidden)
            if apart is not None:
                return self._with_name_doubts(pie_of(*apart, self.legend, self.lines))
        return self._plot(axes)

    def _with_name_doubts(self, chart: Chart) -> Chart:
        doubts = names_in_doubt(chart, self.legend, self.lines)
        return with_doubts(chart, doubts + (shares_in_doubt(chart, self.lines) if chart.kind == "pie" else []))

    def _plot(self, axes: Axes) -> Chart:
        layers = self._layers(axes)
        up, right = axes.up, axes.right
        if up is None and right is None:
            up = right = labelled_scale(layers, self.lines)
            if up is None:
                raise ToolError(
                    "no axis found: there are no three numbers in a column or a row that lie on a line, no values are "
                    "printed at the ends of bars, and the image shows no pie"
                )
        left = axes.up.box.x2 if axes.up is not None else 0.0
        width = self.pixels.shape[1] - left
        if axes.up is not None and axes.right is not None:
            found = histogram_of(layers, axes.up, axes.right, self.lines)
            if found is not None:
                return self._with_all_doubts(found, layers, axes)
        if axes.up is not None and are_areas(layers, width):
            names = self._names(layers, axes.up)
            return self._with_name_doubts(area_chart(layers, axes.up, names, self.legend, self.lines))
        strokes = tuple(layer for layer in layers if is_stroke_layer(layer, width))
        bars = tuple(layer for layer in layers if layer not in strokes)
        if axes.up is not None and strokes and bars and kind_of(bars, width, has_number_axes=False) == "bar":
            return self._bars_with_lines(bars, strokes, axes)
        kind = kind_of(layers, width, has_number_axes=axes.up is not None and axes.right is not None)
        if kind == "bar":
            chart = bar_chart(layers, up, right, lines=self.lines, labels=self.labels, legend=self.legend)
            chart = named_again(chart, without_tick_marks(self.pixels), self.lines, self.text_reader)
            return self._with_all_doubts(chart, layers, axes)
        if kind == "unknown":
            raise ToolError("the marks of the chart are neither bars nor lines nor points of flat colours")
        if up is None:
            raise ToolError("no vertical axis found: there are no three numbers in a column that lie on a line")
        if kind == "scatter" and right is not None:
            return self._with_all_doubts(self._scatter(layers, up, right), layers, axes)
        return self._lines(layers, up, axes)

    def _with_all_doubts(self, chart: Chart, layers: tuple[Layer, ...], axes: Axes) -> Chart:
        """The chart with its doubts."""
        doubts = names_in_doubt(chart, self.legend, self.lines)
        edge = max(piece.box.x2 for layer in layers for piece in layer.pieces)
        doubts += axes_in_doubt(axes, self.lines, edge, is_horizontal=chart.is_horizontal)
        if chart.kind == "line" and chart.arrangement == "single":
            doubts += strokes_in_doubt(chart, layers, self.legend)
        elif chart.kind != "line":
            doubts += boxes_in_doubt(chart, layers)
        return with_doubts(chart, doubts)

    def _bars_with_lines(self, bars: tuple[Layer, ...], strokes: tuple[Layer, ...], axes: Axes) -> Chart:
        """Bars with lines over them; on a second axis, where there is one, the lines are meant."""
        if axes.up is None:
            raise ToolError("no vertical axis found beside the bars")
        chart = bar_chart(bars, axes.up, None, lines=self.lines, labels=self.labels, legend=self.legend)
        series = tuple(
            replace(one, name=self.legend.series_name(one.colour)) if one.colour else one for one in chart.series
        )
        columns = zip(*(one.boxes for one in series), strict=True)
        places = [float(np.mean([box.center.x for box in column if box])) for column in columns if any(column)]
        if len(places) != len(chart.categories):
            raise ToolError("bars are missing below the lines, so the points of the lines cannot be told")
        lines = self._line_series(strokes, axes.second or axes.up, places)
        whole = replace(chart, series=(*series, *lines), arrangement="single")
        doubts = ["lines are drawn over bars"]
        return self._with_all_doubts(replace(whole, doubts=tuple(doubts)), (*bars, *strokes), axes)

    def _layers(self, axes: Axes) -> tuple[Layer, ...]:
        """The layer of each colour between the axes."""
        up, right = axes.up, axes.right
        height, width = self.pixels.shape[:2]
        hidden = [self.legend.box] if self.legend.box else []
        if up is not None:
            hidden.append(Box(0, 0, up.box.x2, height))
        if right is not None:
            is_above = right.box.center.y < (height / 2 if up is None else min(height / 2, up.box.y1))
            # Above the numbers only a title stands; what is drawn there all the same must become a doubt.
            hidden.append(Box(0, right.box.y1, width, right.box.y2 if is_above else height))
        if axes.second is not None:
            hidden.append(Box(axes.second.box.x1, 0, width, height))
        layers = []
        for colour in self.palette.colours:
            coverage = without(coverage_of(self.pixels, colour, self.palette), tuple(hidden))
            if is_thin(coverage):
                texts = ~without(np.ones_like(coverage), tuple(line.box for line in self.lines if is_word(line)))
                if is_greyish(colour) and up is not None:
                    coverage = without_axis(coverage & ~texts, max(tick.at_px for tick in up.ticks))
                strokes = without(stroke_coverage_of(self.pixels, colour, self.palette, texts), tuple(hidden))
                # A stroke of two pixels and more is whole without its edges.
                coverage = strokes if strokes.sum() > 2 * coverage.sum() else coverage
            elif is_greyish(colour):
                coverage = without_frame(coverage)
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

    def _names(self, layers: tuple[Layer, ...], up: Scale) -> list[TextLine]:
        """The names below the horizontal axis."""
        boxes = [piece.box for layer in layers for piece in layer.pieces]
        plot = enclosing_box(boxes)
        bottom = max(plot.y2, max(tick.at_px for tick in up.ticks))
        names = parted_names(names_below(self.lines, bottom, plot.x1, plot.x2))
        names = [line for line in names if line.box.center.x >= plot.x1 - 12 and line.box.center.x <= plot.x2 + 12]
        return with_gaps_named(names)

    def _lines(self, layers: tuple[Layer, ...], up: Scale, axes: Axes) -> Chart:
        names = slanted_row(self.lines, max(tick.at_px for tick in up.ticks), up.box.x2) or self._names(layers, up)
        if not names:
            raise ToolError("no names found below the horizontal axis, so the points of the lines cannot be told")
        names = read_twice(names, self.pixels, self.text_reader)
        centers = [line.box.center.x for line in names]
        places = evened(centers)
        if is_aslant(names[0]):
            places = moved_to_ends(layers, places)
        places = moved_to_corners(layers, places)
        named = {colour for colour, _ in self.legend.names}
        layers = without_doubles(layers, places, named)
        top = min(piece.box.y1 for layer in layers for piece in layer.pieces)
        chart = Chart(
            kind="line",
            title=title_of(self.lines, min(top, up.box.y1)),
            categories=tuple(line.text for line in names),
            series=self._line_series(layers, up, places),
            y_axis=Axis(ticks=tuple(tick.value for tick in up.ticks)),
            confidence=round(up.agreement, 3),
            doubts=tuple(steps_in_doubt(centers) + reading_in_doubt(names)),
        )
        return self._with_all_doubts(chart, layers, axes)

    def _line_series(self, layers: tuple[Layer, ...], up: Scale, places: list[float]) -> tuple[Series, ...]:
        series = []
        for colour in self.legend.in_order([layer.colour for layer in layers]):
            layer = next(layer for layer in layers if layer.colour == colour)
            heights = heights_at(layer, places)
            values = tuple(None if y is None else up.value(y) for y in heights)
            points = tuple(
                None if y is None else Box(x - 4, y - 4, x + 4, y + 4) for x, y in zip(places, heights, strict=True)
            )
            series.append(Series(name=self.legend.series_name(colour), values=values, colour=colour, boxes=points))
        return tuple(series)

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
