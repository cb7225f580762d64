"""Charts by ECharts, pygal, ggplot2 and bokeh: held out once, and then used to mend the reader."""

import json
import os
import subprocess
from pathlib import Path

from foreign_tables import CITIES, GOODS, LONG, MONTHS, Table, Truth, cloud, shares, table, years
from foreign_web import screenshot
from numpy.random import Generator

ECHARTS = Path(os.environ.get("ECHARTS", "node_modules/echarts")) / "dist" / "echarts.min.js"


def echarts(path: Path, option: dict[str, object], theme: str = "") -> None:
    """An ECharts chart; ``npm install echarts`` puts its script where the variable ECHARTS says."""
    script = ECHARTS.read_text()
    start = f"echarts.init(document.getElementById('c'), {json.dumps(theme or None)})"
    option = {"animation": False, **option}
    page = f"<html><body><div id=c style='width:640px;height:420px'></div><script>{script}</script>"
    screenshot(path, f"{page}<script>{start}.setOption({json.dumps(option)})</script></body></html>", 640, 420)


def _series(data: Table, kind: str, **more: object) -> list[dict[str, object]]:
    pairs = zip(data.series, data.rows, strict=True)
    return [{"type": kind, "name": name, "data": row, **more} for name, row in pairs]


def _axes(data: Table) -> dict[str, object]:
    return {"xAxis": {"type": "category", "data": data.categories}, "yAxis": {}}


def echarts_bars(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 15, 190)
    echarts(path, {**_axes(data), "series": _series(data, "bar")})
    return data.truth("bar")


def echarts_grouped(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 5, 3, 100, 900)
    echarts(path, {"legend": {}, **_axes(data), "series": _series(data, "bar")})
    return data.truth("bar")


def echarts_stacked(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 3, 20, 70)
    legend = {"bottom": 0}
    echarts(path, {"legend": legend, **_axes(data), "series": _series(data, "bar", stack="all")})
    return data.truth("bar")


def echarts_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 3, 80, 320)
    echarts(path, {"legend": {}, **_axes(data), "series": _series(data, "line")})
    return data.truth("line")


def echarts_smooth(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 1, 10, 90)
    echarts(path, {**_axes(data), "series": _series(data, "line", smooth=True, areaStyle={})})
    return data.truth("line")


def echarts_pie(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, GOODS, 5, 1, 10, 40))
    slices = [{"name": name, "value": value} for name, value in zip(data.categories, data.rows[0], strict=True)]
    echarts(path, {"series": [{"type": "pie", "radius": "65%", "data": slices}]})
    return data.truth("pie")


def echarts_ring(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, CITIES, 4, 1, 10, 40))
    slices = [{"name": name, "value": value} for name, value in zip(data.categories, data.rows[0], strict=True)]
    ring = {"type": "pie", "radius": ["45%", "70%"], "data": slices, "label": {"show": False}}
    legend = {"orient": "vertical", "left": "left"}
    echarts(path, {"legend": legend, "series": [{**ring, "itemStyle": {"borderColor": "#fff", "borderWidth": 2}}]})
    return data.truth("pie")


def echarts_lying(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 5, 2, 1000, 9000)
    grid = {"left": 130}
    yaxis = {"type": "category", "data": data.categories}
    echarts(path, {"legend": {}, "grid": grid, "xAxis": {}, "yAxis": yaxis, "series": _series(data, "bar")})
    return data.truth("bar")


def echarts_two_axes(path: Path, rng: Generator) -> Truth:
    bars, line = table(rng, MONTHS, 6, 1, 20, 90), table(rng, MONTHS, 6, 1, 2, 9)
    data = Table(bars.categories, ["Amount", "Price"], [bars.rows[0], line.rows[0]])
    series = [
        {"type": "bar", "name": "Amount", "data": data.rows[0]},
        {"type": "line", "name": "Price", "data": data.rows[1], "yAxisIndex": 1},
    ]
    echarts(path, {"legend": {}, **_axes(data), "yAxis": [{}, {}], "series": series})
    return data.truth("bar")


def echarts_dark(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 8, 2, 5, 48)
    echarts(path, {"legend": {}, **_axes(data), "series": _series(data, "line")}, "dark")
    return data.truth("line")


def echarts_points(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, ["North", "South"], 8, 50, 200)
    series = [{"type": "scatter", "name": name, "data": points} for name, points in truth.points.items()]
    echarts(path, {"legend": {}, "xAxis": {}, "yAxis": {}, "series": series})
    return truth


def _pygal(path: Path, chart: object, data: Table) -> None:
    chart.x_labels = data.categories  # type: ignore[attr-defined]
    for name, row in zip(data.series, data.rows, strict=True):
        chart.add(name, row)  # type: ignore[attr-defined]
    chart.render_to_png(str(path))  # type: ignore[attr-defined]


def pygal_bars(path: Path, rng: Generator) -> Truth:
    import pygal

    data = table(rng, GOODS, 5, 2, 12, 95)
    _pygal(path, pygal.Bar(width=640, height=420), data)
    return data.truth("bar")


def pygal_stacked(path: Path, rng: Generator) -> Truth:
    import pygal
    from pygal.style import CleanStyle

    data = table(rng, years(2014, 5), 5, 3, 100, 600)
    _pygal(path, pygal.StackedBar(width=640, height=420, style=CleanStyle, legend_at_bottom=True), data)
    return data.truth("bar")


def pygal_lines(path: Path, rng: Generator) -> Truth:
    import pygal
    from pygal.style import DarkStyle

    data = table(rng, MONTHS, 7, 2, 10, 50)
    _pygal(path, pygal.Line(width=640, height=420, style=DarkStyle), data)
    return data.truth("line")


def pygal_lying(path: Path, rng: Generator) -> Truth:
    import pygal
    from pygal.style import LightStyle

    data = table(rng, CITIES, 5, 1, 20, 140)
    chart = pygal.HorizontalBar(width=640, height=420, style=LightStyle, show_legend=False)
    _pygal(path, chart, data)
    return data.truth("bar")


def pygal_pie(path: Path, rng: Generator) -> Truth:
    import pygal

    data = shares(table(rng, GOODS, 5, 1, 10, 40))
    chart = pygal.Pie(width=640, height=420)
    for name, value in zip(data.categories, data.rows[0], strict=True):
        chart.add(name, value)
    chart.render_to_png(str(path))
    return data.truth("pie")


def ggplot(path: Path, data: Table, layers: str) -> None:
    """A ggplot2 chart of columns category, series and value."""
    cells = "\n".join(f"{row['category']},{row['series']},{row['value']}" for row in data.long)
    levels = ",".join(f'"{name}"' for name in data.categories)
    code = f"""library(ggplot2)
d <- read.csv(text="category,series,value\n{cells}", colClasses=c("character","character","numeric"))
d$category <- factor(d$category, levels=c({levels}))
p <- ggplot(d) + {layers}
png("{path}", width=640, height=420, res=100, type="cairo")
print(p)
"""
    subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)


def ggplot_bars(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 6, 1, 3, 28)
    ggplot(path, data, 'geom_col(aes(category, value), fill="steelblue")')
    return data.truth("bar")


def ggplot_grouped(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 5, 2, 100, 780)
    ggplot(path, data, 'geom_col(aes(category, value, fill=series), position="dodge") + theme_bw()')
    return data.truth("bar")


def ggplot_stacked(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 5, 3, 10, 45)
    ggplot(path, data, 'geom_col(aes(category, value, fill=series)) + theme(legend.position="bottom")')
    return data.truth("bar")


def ggplot_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2013, 7), 7, 3, 40, 88)
    ggplot(path, data, "geom_line(aes(category, value, colour=series, group=series)) + theme_minimal()")
    return data.truth("line")


def ggplot_linetypes(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2013, 6), 6, 2, 10, 60)
    ggplot(path, data, "geom_line(aes(category, value, linetype=series, group=series)) + theme_classic()")
    return data.truth("line")


def ggplot_points(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, [""], 14, 60, 9)
    xs, ys = zip(*truth.points[""], strict=True)
    data = Table([str(x) for x in xs], ["s"], [list(ys)])
    ggplot(path, data, 'geom_point(aes(as.numeric(as.character(category)), value), colour="darkred", size=2)')
    return truth


def ggplot_flipped(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 6, 1, 5, 60)
    ggplot(path, data, 'geom_col(aes(value, category), fill="tomato", width=0.6) + labs(x="Share in %", y=NULL)')
    return data.truth("bar")


def ggplot_area(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 2, 10, 40)
    ggplot(path, data, "geom_area(aes(category, value, fill=series, group=series))")
    return data.truth("line")


def bokeh(path: Path, figure: object) -> None:
    """A bokeh chart by Debian's chromium."""
    from bokeh.embed import file_html
    from bokeh.resources import INLINE

    figure.toolbar_location = None  # type: ignore[attr-defined]
    screenshot(path, file_html(figure, INLINE), 620, 420)  # type: ignore[arg-type]


def bokeh_bars(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    data = table(rng, GOODS, 6, 1, 2, 9.5)
    plot = figure(x_range=data.categories, height=400, width=600, title="Fruit counts")
    plot.vbar(x=data.categories, top=data.rows[0], width=0.8)
    plot.y_range.start = 0
    bokeh(path, plot)
    return data.truth("bar")


def bokeh_lines(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    data = table(rng, MONTHS, 7, 2, 5, 55)
    plot = figure(x_range=data.categories, height=400, width=600)
    for name, row, colour in zip(data.series, data.rows, ("navy", "firebrick"), strict=True):
        plot.line(data.categories, row, line_width=2, color=colour, legend_label=name)
    plot.legend.location = "top_left"
    plot.y_range.end = 75
    bokeh(path, plot)
    return data.truth("line")


def bokeh_crosses(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    truth = cloud(rng, [""], 12, 40, 100)
    xs, ys = zip(*truth.points[""], strict=True)
    plot = figure(height=400, width=600)
    plot.scatter(xs, ys, marker="x", size=10, color="purple", line_width=2)
    bokeh(path, plot)
    return truth
