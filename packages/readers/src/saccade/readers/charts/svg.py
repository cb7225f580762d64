"""A chart drawn anew as SVG from what was read of it: valid XML, nothing that was not read."""

import math
from itertools import pairwise
from xml.etree import ElementTree as Xml

from saccade.readers.charts.chart import Chart, Colour, Series
from saccade.readers.charts.colours import hex_of
from saccade.readers.charts.table import value_text

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 620, 50, 360
_COLOURS: tuple[Colour, ...] = (
    (31, 119, 180),
    (255, 127, 14),
    (44, 160, 44),
    (214, 39, 40),
    (148, 103, 189),
    (140, 86, 75),
)
"""For series whose colour is not known."""


def svg_of(chart: Chart) -> str:
    """An SVG document of 640 x 420 px; every mark carries its value in ``data-value``."""
    root = Xml.Element(
        "svg", xmlns="http://www.w3.org/2000/svg", width=str(WIDTH), height=str(HEIGHT), viewBox=f"0 0 {WIDTH} {HEIGHT}"
    )
    Xml.SubElement(root, "rect", x="0", y="0", width=str(WIDTH), height=str(HEIGHT), fill="#ffffff")
    if chart.title:
        _text(root, WIDTH / 2, 28, chart.title, size=16)
    match chart.kind:
        case "pie":
            _pie(root, chart)
        case "scatter":
            _scatter(root, chart)
        case "line":
            _lines(root, chart)
        case "bar" | "table":
            _bars(root, chart)
    if len(chart.series) > 1:
        _legend(root, chart)
    return str(Xml.tostring(root, encoding="unicode"))


def colour_of(series: Series, number: int, index: int = 0) -> Colour:
    """The colour that was read of a value, or one of our own for its series."""
    own = series.colours[index] if index < len(series.colours) else None
    return own or series.colour or _COLOURS[number % len(_COLOURS)]


def _bars(root: Xml.Element, chart: Chart) -> None:
    is_stacked = chart.arrangement == "stacked"
    columns: list[tuple[float | None, ...]] = list(zip(*(series.values for series in chart.series), strict=True))
    heights = [sum(v or 0 for v in column) for column in columns] if is_stacked else []
    values = [value for column in columns for value in column if value is not None]
    low, high = min(0.0, *values, *heights, 0.0), max(0.0, *values, *heights, 1e-12)
    start, end = (LEFT, RIGHT) if chart.is_horizontal else (BOTTOM, TOP)
    slot = ((BOTTOM - TOP) if chart.is_horizontal else (RIGHT - LEFT)) / max(1, len(columns))
    first = TOP if chart.is_horizontal else LEFT

    def along(value: float) -> float:
        return start + (end - start) * (value - low) / (high - low)

    for index, column in enumerate(columns):
        base = 0.0
        width = 0.8 * slot if is_stacked else 0.8 * slot / max(1, len(column))
        for number, value in enumerate(column):
            if value is None:
                continue
            across = first + slot * index + 0.1 * slot + (0 if is_stacked else number * width)
            ends = sorted((along(base), along(base + value)))
            _bar(root, chart, number, index, value, (across, width), (ends[0], ends[1]))
            base += value if is_stacked else 0.0
    _category_names(root, chart, first, slot)
    _axis_numbers(root, low, high, is_horizontal=chart.is_horizontal)


def _bar(
    root: Xml.Element,
    chart: Chart,
    number: int,
    index: int,
    value: float,
    across: tuple[float, float],
    along: tuple[float, float],
) -> None:
    x, y, width, height = across[0], along[0], across[1], along[1] - along[0]
    if chart.is_horizontal:
        x, y, width, height = along[0], across[0], along[1] - along[0], across[1]
    series = chart.series[number]
    mark = Xml.SubElement(root, "rect", x=_n(x), y=_n(y), width=_n(width), height=_n(height))
    mark.set("fill", hex_of(colour_of(series, number, index)))
    _name(mark, series.name, chart.categories[index], value)


def _lines(root: Xml.Element, chart: Chart) -> None:
    values = [value for series in chart.series for value in series.values if value is not None]
    low, high = min(0.0, *values, 0.0), max(*values, 1e-12, 0.0)
    step = (RIGHT - LEFT) / max(1, len(chart.categories))
    for number, series in enumerate(chart.series):
        colour = hex_of(colour_of(series, number))
        points = [
            None if value is None else (LEFT + step * (i + 0.5), _y(value, low, high))
            for i, value in enumerate(series.values)
        ]
        for one, other in pairwise(points):
            if one is not None and other is not None:
                ends = {"x1": _n(one[0]), "y1": _n(one[1]), "x2": _n(other[0]), "y2": _n(other[1])}
                Xml.SubElement(root, "line", {**ends, "stroke": colour, "stroke-width": "2"})
        for point, category, value in zip(points, chart.categories, series.values, strict=True):
            if point is not None and value is not None:
                mark = Xml.SubElement(root, "circle", cx=_n(point[0]), cy=_n(point[1]), r="3", fill=colour)
                _name(mark, series.name, category, value)
    _category_names(root, chart, LEFT, step)
    _axis_numbers(root, low, high, is_horizontal=False)


def _scatter(root: Xml.Element, chart: Chart) -> None:
    xs = [x for series in chart.series for x in series.xs]
    ys = [y for series in chart.series for y in series.values if y is not None]
    low_x, high_x, low_y, high_y = min(xs, default=0), max(xs, default=1), min(ys, default=0), max(ys, default=1)
    for number, series in enumerate(chart.series):
        for x, y in zip(series.xs, series.values, strict=True):
            if y is None:
                continue
            across = LEFT + 20 + (RIGHT - LEFT - 40) * (x - low_x) / max(high_x - low_x, 1e-12)
            mark = Xml.SubElement(root, "circle", cx=_n(across), cy=_n(_y(y, low_y, high_y)), r="4")
            mark.set("fill", hex_of(colour_of(series, number)))
            mark.set("data-x", repr(x))
            _name(mark, series.name, "", y)
    _axis_numbers(root, low_y, high_y, is_horizontal=False)
    _axis_numbers(root, low_x, high_x, is_horizontal=True)


def _pie(root: Xml.Element, chart: Chart) -> None:
    series = chart.series[0]
    total = sum(value or 0 for value in series.values)
    x, y, radius, angle = WIDTH / 2, (TOP + BOTTOM) / 2 + 10, 140.0, -math.pi / 2
    for index, (category, value) in enumerate(zip(chart.categories, series.values, strict=True)):
        if not value or total <= 0:
            continue
        end = angle + 2 * math.pi * min(value / total, 0.99999)
        x1, y1 = x + radius * math.cos(angle), y + radius * math.sin(angle)
        x2, y2 = x + radius * math.cos(end), y + radius * math.sin(end)
        wide = int(end - angle > math.pi)
        path = f"M{_n(x)},{_n(y)} L{_n(x1)},{_n(y1)} A{_n(radius)},{_n(radius)} 0 {wide} 1 {_n(x2)},{_n(y2)} Z"
        number = index if not series.colours else 0
        mark = Xml.SubElement(root, "path", d=path, fill=hex_of(colour_of(series, number, index)))
        _name(mark, series.name, category, value)
        middle = (angle + end) / 2
        _text(root, x + 1.2 * radius * math.cos(middle), y + 1.15 * radius * math.sin(middle), category)
        angle = end


def _category_names(root: Xml.Element, chart: Chart, first: float, slot: float) -> None:
    for index, category in enumerate(chart.categories):
        middle = first + slot * (index + 0.5)
        if chart.is_horizontal:
            _text(root, LEFT - 6, middle + 4, category, anchor="end")
        else:
            _text(root, middle, BOTTOM + 18, category)


def _axis_numbers(root: Xml.Element, low: float, high: float, *, is_horizontal: bool) -> None:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = low + share * (high - low)
        if is_horizontal:
            _text(root, LEFT + share * (RIGHT - LEFT), BOTTOM + 34, value_text(value), size=10)
        else:
            _text(root, LEFT - 6, _y(value, low, high) + 4, value_text(value), size=10, anchor="end")


def _legend(root: Xml.Element, chart: Chart) -> None:
    for number, series in enumerate(chart.series):
        x = LEFT + (RIGHT - LEFT) * number / len(chart.series)
        fill = hex_of(colour_of(series, number))
        Xml.SubElement(root, "rect", x=_n(x), y=_n(HEIGHT - 20), width="10", height="10", fill=fill)
        _text(root, x + 14, HEIGHT - 11, series.name, anchor="start")


def _text(root: Xml.Element, x: float, y: float, words: str, *, size: int = 12, anchor: str = "middle") -> None:
    attributes = {"x": _n(x), "y": _n(y), "font-size": str(size), "text-anchor": anchor, "font-family": "sans-serif"}
    Xml.SubElement(root, "text", attributes).text = _printable(words)


def _name(mark: Xml.Element, series: str, category: str, value: float) -> None:
    mark.set("data-series", _printable(series))
    if category:
        mark.set("data-category", _printable(category))
    mark.set("data-value", repr(float(value)))


def _printable(words: str) -> str:
    """XML allows no control characters."""
    return "".join(letter for letter in words if letter.isprintable())


def _y(value: float, low: float, high: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (value - low) / max(high - low, 1e-12)


def _n(number: float) -> str:
    return f"{number:.2f}"
