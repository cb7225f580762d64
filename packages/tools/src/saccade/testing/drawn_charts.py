"""Charts drawn with matplotlib from a seed, in many styles, each with all that is true of it; needs matplotlib."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.readers.charts.chart import Chart, Series

KINDS = ("bars", "grouped", "stacked", "horizontal", "lines", "pies", "scatter")

_WORDS = (  # noqa: SIM905
    "Apples Bread Coffee Dates Eggs Flour Grapes Honey Juice Kale Lemons Milk Nuts Olives Pears Rice Salt Tea Wheat "
    "Yams Berlin Cairo Delhi Lima Oslo Paris Quito Rome Seoul Tokyo North South East West Central Rent Food Travel "
    "Health Sport Music Books Games Cars Ships Trains Planes Gold Silver Copper Iron Zinc"
).split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
_NAMES = (  # noqa: SIM905
    "Alpha Beta Gamma Delta Men Women Online Store Plan Actual Red-team Adults Children Urban Rural Import"
).split()
_TITLES = ("Sales by product", "Results of the survey", "Annual report", "Output per region", "Monthly overview", "")
_LABELS = ("Amount", "Units sold", "Percent", "Value", "Count", "")
_FONTS = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral")
_PALETTES = (
    ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    ("#66c2a5", "#fc8d62", "#8da0cb", "#e78ac3", "#a6d854", "#ffd92f"),
    ("#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02"),
    ("#003f5c", "#7a5195", "#ef5675", "#ffa600", "#2f9e44", "#5bc0de"),
    ("#e41a1c", "#377eb8", "#4daf4a", "#984ea3", "#ff7f00", "#a65628"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnChart:
    """A picture and the chart that it shows."""

    image: Image.Image
    chart: Chart


def draw_chart(kind: str, rng: Generator) -> DrawnChart:
    """A chart of one of ``KINDS`` with random content and style."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style = {
        "font.family": _pick(rng, _FONTS),
        "font.size": float(rng.integers(9, 14)),
        "axes.facecolor": _pick(rng, ("white", "white", "#f7f7f7", "#eaeaf2")),
        "figure.facecolor": _pick(rng, ("white", "white", "white", "#fbfbfb")),
        "axes.linewidth": float(rng.choice([0.8, 1.0, 1.5])),
    }
    with matplotlib.rc_context(style):
        size = (float(rng.uniform(5.0, 8.0)), float(rng.uniform(3.6, 5.6)))
        figure = Figure(figsize=size, dpi=int(rng.integers(85, 130)))
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        chart = _DRAWERS[kind](rng, axes, _pick(rng, _PALETTES))
        if kind != "pies":
            _dress(rng, axes, kind)
        title = _pick(rng, _TITLES)
        if title:
            axes.set_title(title)
        figure.tight_layout()
        stream = io.BytesIO()
        canvas.print_png(stream)
    return DrawnChart(image=Image.open(stream).convert("RGB"), chart=chart)


def _dress(rng: Generator, axes: Any, kind: str) -> None:
    """Grid, spines and names of the axes."""
    grid = _pick(rng, ("none", "values", "both", "values"))
    if grid != "none":
        axis = "both" if grid == "both" or kind == "scatter" else "x" if kind == "horizontal" else "y"
        axes.grid(visible=True, axis=axis, color=_pick(rng, ("#cccccc", "#dddddd", "#b0b0b0")))
        axes.set_axisbelow(bool(rng.integers(2)))
    spines = _pick(rng, ("all", "all", "two", "none" if grid != "none" else "two"))
    hidden = {"all": (), "two": ("top", "right"), "none": ("top", "right", "left")}[spines]
    for side in hidden:
        axes.spines[side].set_visible(False)
    label = _pick(rng, _LABELS)
    if label and kind != "scatter":
        (axes.set_xlabel if kind == "horizontal" else axes.set_ylabel)(label)
    if kind == "scatter":
        axes.set_xlabel("Width")
        axes.set_ylabel("Height")
    if kind != "scatter" and rng.random() < 0.2:
        from matplotlib.ticker import StrMethodFormatter

        axis = axes.xaxis if kind == "horizontal" else axes.yaxis
        if max(abs(tick) for tick in axis.get_ticklocs()) >= 1000:
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _bars(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    categories, scale = _categories(rng, int(rng.integers(3, 10))), _scale(rng)
    values = _values(rng, scale, len(categories))
    colours = palette[: len(categories)] if rng.random() < 0.2 and len(categories) <= len(palette) else palette[:1]
    bars = axes.bar(categories, values, width=float(rng.uniform(0.45, 0.85)), color=colours, **_edge(rng))
    if rng.random() < 0.2:
        axes.bar_label(bars, padding=2)
        axes.margins(y=0.12)
    return Chart(kind="bar", categories=categories, series=(Series(name="", values=values),))


def _grouped(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    categories, scale = _categories(rng, int(rng.integers(3, 7))), _scale(rng)
    series = _series(rng, int(rng.integers(2, 5)), len(categories), scale)
    width, edge = float(rng.uniform(0.6, 0.85)) / len(series), _edge(rng)
    for number, (one, colour) in enumerate(zip(series, palette)):
        places = np.arange(len(categories)) + (number - (len(series) - 1) / 2) * width
        axes.bar(places, one.values, width=width, color=colour, label=one.name, **edge)
    axes.set_xticks(range(len(categories)), categories)
    _legend(rng, axes)
    return Chart(kind="bar", arrangement="grouped", categories=categories, series=series)


def _stacked(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    categories, scale = _categories(rng, int(rng.integers(3, 8))), _scale(rng)
    series = _series(rng, int(rng.integers(2, 5)), len(categories), scale)
    bottom, width, edge = np.zeros(len(categories)), float(rng.uniform(0.45, 0.8)), _edge(rng)
    for one, colour in zip(series, palette):
        axes.bar(categories, one.values, width=width, bottom=bottom, color=colour, label=one.name, **edge)
        bottom = bottom + np.array(one.values)
    _legend(rng, axes)
    return Chart(kind="bar", arrangement="stacked", categories=categories, series=series)


def _horizontal(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    categories, scale = _categories(rng, int(rng.integers(3, 10))), _scale(rng)
    values = _values(rng, scale, len(categories))
    bars = axes.barh(categories, values, height=float(rng.uniform(0.45, 0.8)), color=palette[0], **_edge(rng))
    if rng.random() < 0.5:
        axes.invert_yaxis()
    if rng.random() < 0.2:
        axes.bar_label(bars, padding=2)
        axes.margins(x=0.15)
    return Chart(kind="bar", is_horizontal=True, categories=categories, series=(Series(name="", values=values),))


def _lines(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    count = int(rng.integers(4, 11))
    categories = _MONTHS[:count] if rng.random() < 0.5 else [str(2010 + i) for i in range(count)]
    series = _series(rng, int(rng.integers(1, 5)), count, _scale(rng))
    marker = _pick(rng, (None, "o", "s", "^"))
    dash = "--" if rng.random() < 0.15 else "-"
    width = float(rng.uniform(1.4, 2.8))
    for one, colour in zip(series, palette):
        axes.plot(categories, one.values, color=colour, marker=marker, linestyle=dash, linewidth=width, label=one.name)
    if rng.random() < 0.6:
        axes.set_ylim(bottom=0)
    if len(series) > 1:
        _legend(rng, axes)
    return Chart(kind="line", categories=tuple(categories), series=series)


def _pies(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    count = int(rng.integers(2, 7))
    categories = _categories(rng, count)
    shares = 0.04 + (1 - 0.04 * count) * rng.dirichlet(np.full(count, 2.0))
    edge = {"edgecolor": "white", "linewidth": 1.0} if rng.random() < 0.4 else {}
    if rng.random() < 0.2:
        edge["width"] = 0.45
    printed = "%1.0f%%" if rng.random() < 0.25 else None
    has_legend = rng.random() < 0.4
    axes.pie(
        shares,
        labels=None if has_legend else categories,
        colors=palette[:count],
        startangle=float(rng.uniform(0, 360)),
        counterclock=bool(rng.integers(2)),
        autopct=printed,
        wedgeprops=edge,
    )
    if has_legend:
        axes.legend(categories, loc="center left", bbox_to_anchor=(1.0, 0.5))
    values = tuple(float(100 * share) for share in shares)
    return Chart(kind="pie", categories=categories, series=(Series(name="", values=values),))


def _scatter(rng: Generator, axes: Any, palette: tuple[str, ...]) -> Chart:
    series = []
    scale_x, scale_y = _scale(rng), _scale(rng)
    for name, colour in zip(_names(rng, int(rng.integers(1, 4))), palette):
        count = int(rng.integers(6, 16))
        xs = tuple(float(x) for x in rng.uniform(0.1, 1, count) * scale_x)
        ys = tuple(float(y) for y in rng.uniform(0.1, 1, count) * scale_y)
        axes.scatter(xs, ys, color=colour, s=float(rng.uniform(20, 50)), label=name)
        series.append(Series(name=name, values=ys, xs=xs))
    if len(series) > 1:
        _legend(rng, axes, outside=True)
    return Chart(kind="scatter", series=tuple(series))


_DRAWERS = {
    "bars": _bars,
    "grouped": _grouped,
    "stacked": _stacked,
    "horizontal": _horizontal,
    "lines": _lines,
    "pies": _pies,
    "scatter": _scatter,
}


def _legend(rng: Generator, axes: Any, *, outside: bool = False) -> None:
    place = "right" if outside else _pick(rng, ("inside", "right", "above"))
    if place == "right":
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=bool(rng.integers(2)))
    elif place == "above":
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncol=4, frameon=False)
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(low, low + (high - low) * 1.5)
        axes.legend(loc="upper right", ncol=2)


def _edge(rng: Generator) -> dict[str, Any]:
    return {"edgecolor": _pick(rng, ("black", "white")), "linewidth": 0.8} if rng.random() < 0.3 else {}


def _categories(rng: Generator, count: int) -> tuple[str, ...]:
    if rng.random() < 0.2:
        first = int(rng.integers(1995, 2015))
        return tuple(str(first + i) for i in range(count))
    return tuple(_WORDS[int(i)] for i in rng.permutation(len(_WORDS))[:count])


def _names(rng: Generator, count: int) -> tuple[str, ...]:
    return tuple(_NAMES[int(i)] for i in rng.permutation(len(_NAMES))[:count])


def _scale(rng: Generator) -> float:
    return float(rng.choice([1.0, 10.0, 40.0, 100.0, 750.0, 5000.0])) * float(rng.uniform(0.6, 1.4))


def _values(rng: Generator, scale: float, count: int, least: float = 0.1) -> tuple[float, ...]:
    """From ``least`` of the scale up to it, in three digits."""
    return tuple(float(f"{value:.3g}") for value in rng.uniform(least, 1.0, count) * scale)


def _series(rng: Generator, count: int, length: int, scale: float, least: float = 0.1) -> tuple[Series, ...]:
    return tuple(Series(name=name, values=_values(rng, scale, length, least)) for name in _names(rng, count))


def _pick(rng: Generator, options: tuple[Any, ...]) -> Any:
    return options[int(rng.integers(len(options)))]
