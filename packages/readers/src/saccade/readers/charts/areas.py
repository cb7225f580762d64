"""Areas below lines, one or several on each other: the heights of their upper edges above the places of the names."""

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ToolError
from saccade.geometry import Box
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Axis, Chart, Series
from saccade.readers.charts.layout import title_of
from saccade.readers.charts.legend import Legend
from saccade.readers.charts.lines import evened
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine

LEAST_THICKNESS_PX = 14.0
LEAST_SPAN = 0.5
"""Least width of one piece of an area, as a share of the plot's."""
EDGE_PX = 12.0
MEETING_PX = 4.0
"""Between the upper edge of an area and the lower edge of the one that stands on it."""


def are_areas(layers: tuple[Layer, ...], plot_width: float) -> bool:
    """Whether each colour is one thick piece from side to side whose upper edge rises and falls."""
    return all(_is_area(layer, plot_width) for layer in layers)


def area_chart(
    layers: tuple[Layer, ...], up: Scale, names: list[TextLine], legend: Legend, lines: tuple[TextLine, ...]
) -> Chart:
    """The chart as one of lines: for areas on each other the thickness of each is its value."""
    if not names:
        raise ToolError("no names found below the horizontal axis, so the points of the areas cannot be told")
    edges = {layer.colour: _edges(layer) for layer in layers}
    columns = np.flatnonzero(~np.isnan(np.vstack([top for top, _ in edges.values()])).all(axis=0))
    places = _within(evened([line.box.center.x for line in names]), float(columns[0]), float(columns[-1]) + 1)
    order = sorted(edges, key=lambda colour: -float(np.nanmean(edges[colour][0])))
    foot = float(np.nanmedian(edges[order[0]][1]))
    zero = up.zero_px
    if zero is None or abs(foot - zero) > 8:
        raise ToolError("areas are read on an axis from zero only")
    doubts = ()
    values: dict[tuple[int, int, int], tuple[float, ...]] = {}
    floor: NDArray[np.float64] = np.full(len(places), foot)
    for colour in order:
        tops, bottoms = (np.array([_at(edge, place) for place in places]) for edge in edges[colour])
        if float(np.median(np.abs(bottoms - floor))) > MEETING_PX:
            raise ToolError("areas that cover each other are not read")
        floor = (bottoms + floor) / 2 if colour != order[0] else floor
        values[colour] = tuple(
            up.value(float(top)) - up.value(float(low)) for top, low in zip(tops, floor, strict=True)
        )
        floor = tops
    series = tuple(
        Series(
            name=legend.series_name(colour),
            values=values[colour],
            colour=colour,
            boxes=tuple(_box(edges[colour][0], place) for place in places),
        )
        for colour in legend.in_order(order)
    )
    return Chart(
        kind="line",
        arrangement="stacked" if len(series) > 1 else "single",
        title=title_of(lines, up.box.y1),
        categories=tuple(line.text for line in names),
        series=series,
        y_axis=Axis(ticks=tuple(tick.value for tick in up.ticks)),
        confidence=round(up.agreement, 3),
        doubts=doubts,
    )


def _is_area(layer: Layer, plot_width: float) -> bool:
    wide = [piece for piece in layer.pieces if piece.box.width >= LEAST_SPAN * plot_width]
    if len(wide) != 1 or wide[0].area < 0.85 * layer.area:
        return False
    top, bottom = _edges(layer)
    thickness = bottom - top
    if float(np.nanmedian(thickness)) < LEAST_THICKNESS_PX:
        return False
    steps = np.abs(np.diff(top[~np.isnan(top)]))
    # The upper edge of bars side by side is level but for a few steps.
    return float((steps > 0).mean()) > 0.15


def _edges(layer: Layer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per column the first and the last row, nan where nothing is drawn."""
    drawn = layer.coverage.any(axis=0)
    height = layer.coverage.shape[0]
    top = np.where(drawn, layer.coverage.argmax(axis=0), np.nan).astype(float)
    bottom = np.where(drawn, height - layer.coverage[::-1].argmax(axis=0), np.nan).astype(float)
    return top, bottom


def _within(places: list[float], left: float, right: float) -> list[float]:
    """The places moved onto the ends of the areas where these are near to the first and the last."""
    if len(places) < 2 or abs(places[0] - left) > EDGE_PX or abs(places[-1] - right) > EDGE_PX:
        return places
    return [left + (right - left) * (place - places[0]) / (places[-1] - places[0]) for place in places]


def _at(edge: NDArray[np.float64], place: float) -> float:
    """The height at a place; at the ends, that of the nearest column."""
    drawn = np.flatnonzero(~np.isnan(edge))
    column = int(np.clip(np.floor(place), drawn[0], drawn[-1]))
    near = edge[max(drawn[0], column - 1) : min(drawn[-1], column + 1) + 1]
    return float(np.nanmedian(near))


def _box(edge: NDArray[np.float64], place: float) -> Box:
    height = _at(edge, place)
    return Box(place - 4, height - 4, place + 4, height + 4)
