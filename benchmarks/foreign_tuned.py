"""Charts by altair, plotly, gnuplot, seaborn and matplotlib's further styles, with which the reader was developed."""

import json
import subprocess
from pathlib import Path

import numpy as np
from foreign_tables import CITIES, GOODS, LONG, MONTHS, Table, Truth, cloud, shares, table, years
from foreign_web import screenshot
from numpy.random import Generator


def vega(path: Path, spec: dict[str, object], values: object) -> None:
    """A Vega-Lite chart as PNG."""
    import vl_convert

    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "width": 380, "height": 260, **spec}
    path.write_bytes(vl_convert.vegalite_to_png(json.dumps({**whole, "data": {"values": values}}), scale=1.5))


def _x(data: Table) -> dict[str, object]:
    return {"field": "category", "type": "nominal", "sort": data.categories, "title": None}


Y = {"field": "value", "type": "quantitative"}
COLOUR = {"field": "series", "type": "nominal", "title": None}


def vega_bars(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 20, 400)
    vega(path, {"mark": "bar", "encoding": {"x": _x(data), "y": Y}}, data.long)
    return data.truth("bar")


def vega_grouped(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 4, 3, 5, 60)
    encoding = {"x": {**_x(data), "axis": {"labelAngle": 0}}, "xOffset": {"field": "series"}, "y": Y, "color": COLOUR}
    vega(path, {"mark": "bar", "encoding": encoding}, data.long)
    return data.truth("bar")


def vega_stacked(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2015, 5), 5, 3, 300, 1500)
    encoding = {
        "x": {**_x(data), "axis": {"labelAngle": -45}},
        "y": Y,
        "color": {**COLOUR, "legend": {"orient": "top"}},
    }
    vega(path, {"mark": "bar", "encoding": encoding}, data.long)
    return data.truth("bar")


def vega_labelled(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 5, 1, 12, 90)
    encoding = {"y": {**_x(data)}, "x": {**Y, "axis": None}}
    layers = [{"mark": "bar"}, {"mark": {"type": "text", "dx": 16}, "encoding": {"text": {"field": "value"}}}]
    vega(path, {"layer": layers, "encoding": encoding}, data.long)
    return data.truth("bar")


def vega_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 3, 52, 96)
    y = {**Y, "scale": {"zero": False}}
    encoding = {"x": {**_x(data), "axis": {"labelAngle": 0}}, "y": y, "color": COLOUR}
    vega(path, {"mark": {"type": "line", "point": True}, "encoding": encoding}, data.long)
    return data.truth("line")


def vega_log(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2011, 7), 7, 1, 0, 1)
    data = Table(data.categories, data.series, [[float(f"{10 ** (1 + 3 * v):.3g}") for v in data.rows[0]]])
    y = {**Y, "scale": {"type": "log"}}
    vega(path, {"mark": "line", "encoding": {"x": {**_x(data), "axis": {"labelAngle": 0}}, "y": y}}, data.long)
    return data.truth("line")


def vega_area(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 8, 1, 10, 45)
    x = {**_x(data), "axis": {"labelAngle": 0}}
    vega(path, {"mark": "area", "encoding": {"x": x, "y": Y}}, data.long)
    return data.truth("line")


def vega_stacked_area(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2010, 6), 6, 3, 20, 80)
    x = {**_x(data), "axis": {"labelAngle": 0}}
    vega(path, {"mark": "area", "encoding": {"x": x, "y": Y, "color": COLOUR}}, data.long)
    return data.truth("line")


def vega_donut(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, GOODS, 5, 1, 10, 40))
    encoding = {"theta": Y, "color": {**COLOUR, "field": "category"}}
    vega(path, {"mark": {"type": "arc", "innerRadius": 60}, "encoding": encoding}, data.long)
    return data.truth("pie")


def vega_points(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, ["Urban", "Rural"], 9, 80, 300)
    values = [{"series": name, "x": x, "y": y} for name, points in truth.points.items() for x, y in points]
    encoding = {
        "x": {"field": "x", "type": "quantitative"},
        "y": {"field": "y", "type": "quantitative"},
        "color": COLOUR,
    }
    vega(path, {"mark": "point", "encoding": encoding}, values)
    return truth


def vega_dark(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 2, 1000, 9000)
    encoding = {"x": {**_x(data), "axis": {"labelAngle": 0}}, "xOffset": {"field": "series"}, "y": Y, "color": COLOUR}
    light = {"labelColor": "#ddd", "titleColor": "#ddd", "gridColor": "#555"}
    config = {"background": "#222222", "axis": light, "legend": light}
    vega(path, {"mark": "bar", "encoding": encoding, "config": config}, data.long)
    return data.truth("bar")


def vega_histogram(path: Path, rng: Generator) -> Truth:
    values = rng.normal(50, 16, 120).clip(1, 99)
    counts, _ = np.histogram(values, bins=10, range=(0, 100))
    encoding = {
        "x": {"field": "v", "type": "quantitative", "bin": {"step": 10, "extent": [0, 100]}},
        "y": {"aggregate": "count"},
    }
    vega(path, {"mark": "bar", "encoding": encoding}, [{"v": float(v)} for v in values])
    return Truth(kind="bar", values={"": {f"{10 * i}-{10 * i + 10}": float(c) for i, c in enumerate(counts) if c}})


def plotly(path: Path, traces: list[dict[str, object]], layout: dict[str, object] | None = None) -> None:
    """A plotly chart by Debian's chromium."""
    import plotly.graph_objects as go

    figure = go.Figure(data=traces, layout={"width": 640, "height": 420, **(layout or {})})
    screenshot(path, figure.to_html(include_plotlyjs=True, config={"displayModeBar": False}), 660, 440)


def _traces(data: Table, kind: str, **more: object) -> list[dict[str, object]]:
    pairs = zip(data.series, data.rows, strict=True)
    return [{"type": kind, "name": name, "x": data.categories, "y": row, **more} for name, row in pairs]


def plotly_grouped(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 5, 2, 200, 2400)
    plotly(path, _traces(data, "bar"))
    return data.truth("bar")


def plotly_pie(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, LONG, 5, 1, 10, 40))
    plotly(path, [{"type": "pie", "labels": data.categories, "values": data.rows[0]}])
    return data.truth("pie")


def plotly_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 9, 2, -40, 60)
    plotly(path, _traces(data, "scatter", mode="lines+markers"))
    return data.truth("line")


def plotly_two_axes(path: Path, rng: Generator) -> Truth:
    bars, line = table(rng, MONTHS, 6, 1, 20, 90), table(rng, MONTHS, 6, 1, 1000, 5000)
    first = {"type": "bar", "name": "Amount", "x": bars.categories, "y": bars.rows[0]}
    second = {"type": "scatter", "name": "Price", "x": bars.categories, "y": line.rows[0], "yaxis": "y2"}
    axis = {"overlaying": "y", "side": "right", "rangemode": "tozero"}
    plotly(path, [first, second], {"yaxis2": axis, "legend": {"orientation": "h", "y": 1.15}})
    return Table(bars.categories, ["Amount", "Price"], [bars.rows[0], line.rows[0]]).truth("bar")


def plotly_lying_stack(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 4, 3, 8, 40)
    pairs = zip(data.series, data.rows, strict=True)
    traces = [{"type": "bar", "name": n, "orientation": "h", "x": row, "y": data.categories} for n, row in pairs]
    plotly(path, traces, {"barmode": "stack", "template": "simple_white"})
    return data.truth("bar")


def gnuplot(path: Path, commands: str, rows: list[list[object]]) -> None:
    """A gnuplot chart by its cairo terminal."""
    lines = "\n".join(" ".join(f'"{cell}"' if isinstance(cell, str) else str(cell) for cell in row) for row in rows)
    head = (
        f"set terminal pngcairo size 640,420 font 'Liberation Sans,11'\nset output '{path}'\n$d << EOD\n{lines}\nEOD\n"
    )
    subprocess.run(["gnuplot"], input=head + commands, text=True, check=True)


def gnuplot_clustered(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 5, 2, 5, 48)
    rows = [list(row) for row in zip(data.categories, *data.rows, strict=True)]
    one, two = data.series
    gnuplot(
        path,
        "set style data histogram\nset style histogram cluster gap 1\nset style fill solid border -1\n"
        "set yrange [0:*]\n"
        f"plot $d using 2:xtic(1) title '{one}', '' using 3 title '{two}'\n",
        rows,
    )
    return data.truth("bar")


def gnuplot_linespoints(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 8, 2, 100, 420)
    rows = [list(row) for row in zip(range(8), data.categories, *data.rows, strict=True)]
    one, two = data.series
    gnuplot(
        path,
        "set grid\nset key outside\n"
        f"plot $d using 1:3:xtic(2) with linespoints title '{one}', '' using 1:4 with linespoints title '{two}'\n",
        rows,
    )
    return data.truth("line")


def gnuplot_crosses(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, [""], 14, 90, 40)
    rows: list[list[object]] = [[x, y] for x, y in truth.points[""]]
    gnuplot(path, "unset key\nset xrange [0:100]\nset yrange [0:45]\nplot $d with points pt 2 ps 1.5\n", rows)
    return truth


def seaborn_lines(path: Path, rng: Generator) -> Truth:
    import matplotlib.pyplot as plt
    import seaborn

    data = table(rng, years(2012, 7), 7, 3, 30, 75)
    plt.rcdefaults()
    seaborn.set_theme()
    figure, axes = plt.subplots(figsize=(6.2, 4.2), dpi=100)
    for name, row in zip(data.series, data.rows, strict=True):
        seaborn.lineplot(x=data.categories, y=row, ax=axes, label=name)
    figure.savefig(path)
    return data.truth("line")


def seaborn_lying(path: Path, rng: Generator) -> Truth:
    import matplotlib.pyplot as plt
    import seaborn

    data = table(rng, CITIES, 7, 1, 10, 95)
    seaborn.set_theme(style="whitegrid", palette="muted")
    figure, axes = plt.subplots(figsize=(6.2, 4.2), dpi=100)
    seaborn.barplot(x=data.rows[0], y=data.categories, hue=data.categories, legend=False, ax=axes)
    figure.savefig(path)
    return data.truth("bar")
