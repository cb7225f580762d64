"""Charts by ECharts, plotly, Vega-Lite, bokeh, pygal, gnuplot and ggplot2 in styles not used to tune the reader."""

from pathlib import Path

from foreign_tables import CITIES, GOODS, LONG, MONTHS, Table, Truth, cloud, shares, table, years
from foreign_tuned import gnuplot, plotly, vega
from foreign_tuned_later import bokeh, echarts, ggplot
from numpy.random import Generator


def fresh_echarts_rounded(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 5, 1, 200, 1900)
    bars = {"type": "bar", "data": data.rows[0], "barWidth": "40%", "itemStyle": {"borderRadius": [6, 6, 0, 0]}}
    xaxis = {"type": "category", "data": data.categories, "axisLabel": {"rotate": 30, "interval": 0}}
    grid, title = {"bottom": 90}, {"text": "Trips in a day", "left": "center"}
    echarts(path, {"title": title, "grid": grid, "xAxis": xaxis, "yAxis": {}, "color": ["#73c0de"], "series": [bars]})
    return data.truth("bar")


def fresh_echarts_areas(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 3, 30, 90)
    pairs = zip(data.series, data.rows, strict=True)
    series = [{"type": "line", "name": n, "data": r, "stack": "all", "areaStyle": {"opacity": 1}} for n, r in pairs]
    xaxis = {"type": "category", "boundaryGap": False, "data": data.categories}
    legend = {"orient": "vertical", "right": 5, "top": "middle"}
    echarts(path, {"legend": legend, "grid": {"right": 110}, "xAxis": xaxis, "yAxis": {}, "series": series})
    return data.truth("line")


def fresh_echarts_rose(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, CITIES, 5, 1, 10, 40))
    slices = [{"name": name, "value": value} for name, value in zip(data.categories, data.rows[0], strict=True)]
    echarts(
        path, {"legend": {"top": 0}, "series": [{"type": "pie", "roseType": "area", "radius": 140, "data": slices}]}
    )
    return data.truth("pie")


def fresh_plotly_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2010, 8), 8, 3, 20, 80)
    dashes = ("solid", "dash", "dot")
    traces: list[dict[str, object]] = [
        {"type": "scatter", "mode": "lines", "name": n, "x": data.categories, "y": r, "line": {"dash": d, "width": 3}}
        for n, r, d in zip(data.series, data.rows, dashes, strict=True)
    ]
    legend = {"orientation": "h", "y": -0.2}
    plotly(path, traces, {"template": "plotly_white", "legend": legend, "xaxis": {"type": "category"}})
    return data.truth("line")


def fresh_plotly_dark(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 12, 88)
    bars = {"type": "bar", "x": data.categories, "y": data.rows[0], "marker": {"color": "#00cc96"}}
    layout = {"template": "plotly_dark", "title": {"text": "Sold by the ton"}, "yaxis": {"ticksuffix": " t"}}
    plotly(path, [bars], layout)
    return data.truth("bar")


def fresh_plotly_ring(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, GOODS, 5, 1, 10, 40))
    ring = {"type": "pie", "labels": data.categories, "values": data.rows[0], "hole": 0.5, "textinfo": "label"}
    plotly(path, [ring], {"template": "seaborn", "showlegend": False})
    return data.truth("pie")


def fresh_vega_lying(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 7, 1, 5, 75)
    encoding = {
        "y": {"field": "category", "type": "nominal", "sort": data.categories, "title": None},
        "x": {"field": "value", "type": "quantitative", "axis": {"orient": "top", "grid": False}},
    }
    vega(path, {"mark": {"type": "bar", "color": "#a0568c"}, "encoding": encoding, "config": {}}, data.long)
    return data.truth("bar")


def fresh_vega_lines(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 8, 2, 100, 480)
    encoding = {
        "x": {"field": "category", "type": "ordinal", "sort": data.categories, "axis": {"labelAngle": 0}},
        "y": {"field": "value", "type": "quantitative", "axis": {"format": "$,.0f"}},
        "color": {"field": "series", "type": "nominal", "legend": {"orient": "bottom"}, "scale": {"scheme": "dark2"}},
    }
    mark = {"type": "line", "point": {"filled": False, "fill": "white"}}
    vega(path, {"mark": mark, "encoding": encoding, "config": {"background": "#f4f0e8"}}, data.long)
    return data.truth("line")


def fresh_bokeh_stacked(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    data = table(rng, years(2016, 5), 5, 3, 10, 60)
    source = {"category": data.categories, **dict(zip(data.series, data.rows, strict=True))}
    plot = figure(x_range=data.categories, height=400, width=600, title="Tons by year")
    colours = ["#718dbf", "#e84d60", "#c9d9d3"]
    plot.vbar_stack(data.series, x="category", width=0.6, color=colours, source=source, legend_label=data.series)
    plot.add_layout(plot.legend[0], "right")
    plot.xgrid.grid_line_color = None
    plot.y_range.start = 0
    bokeh(path, plot)
    return data.truth("bar")


def fresh_bokeh_markers(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    data = table(rng, MONTHS, 6, 2, 12, 70)
    plot = figure(x_range=data.categories, height=400, width=600, background_fill_color="#efefef")
    pairs = zip(data.series, data.rows, ("teal", "orange"), ("circle", "square"), strict=True)
    for name, row, colour, marker in pairs:
        plot.line(data.categories, row, color=colour, line_width=3, legend_label=name)
        plot.scatter(data.categories, row, color=colour, marker=marker, size=9, legend_label=name)
    plot.y_range.end = 95
    plot.legend.orientation = "horizontal"
    plot.legend.location = "top_center"
    bokeh(path, plot)
    return data.truth("line")


def fresh_bokeh_lying(path: Path, rng: Generator) -> Truth:
    from bokeh.plotting import figure

    data = table(rng, LONG, 6, 1, 100, 990)
    plot = figure(y_range=data.categories[::-1], height=400, width=600)
    plot.hbar(y=data.categories, right=data.rows[0], height=0.5, color="olive", line_color="black")
    plot.x_range.start = 0
    plot.ygrid.grid_line_color = None
    bokeh(path, plot)
    return data.truth("bar")


def fresh_pygal_ring(path: Path, rng: Generator) -> Truth:
    import pygal
    from pygal.style import NeonStyle

    data = shares(table(rng, CITIES, 4, 1, 10, 40))
    chart = pygal.Pie(width=640, height=420, style=NeonStyle, inner_radius=0.6, legend_at_bottom=True)
    for name, value in zip(data.categories, data.rows[0], strict=True):
        chart.add(name, value)
    chart.render_to_png(str(path))
    return data.truth("pie")


def fresh_pygal_lying_stack(path: Path, rng: Generator) -> Truth:
    import pygal
    from pygal.style import SolidColorStyle

    data = table(rng, GOODS, 4, 2, 20, 90)
    chart = pygal.HorizontalStackedBar(width=640, height=420, style=SolidColorStyle, title="Stock by shop")
    chart.x_labels = data.categories
    for name, row in zip(data.series, data.rows, strict=True):
        chart.add(name, row)
    chart.render_to_png(str(path))
    return data.truth("bar")


def fresh_gnuplot_stacked(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 3, 40, 200)
    rows = [list(row) for row in zip(data.categories, *data.rows, strict=True)]
    one, two, three = data.series
    gnuplot(
        path,
        "set style data histogram\nset style histogram rowstacked\nset style fill solid 0.8 noborder\n"
        "set boxwidth 0.6\nset yrange [0:*]\nset key outside top center horizontal\nset grid ytics\n"
        f"plot $d using 2:xtic(1) title '{one}', '' using 3 title '{two}', '' using 4 title '{three}'\n",
        rows,
    )
    return data.truth("bar")


def fresh_gnuplot_steps(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 1, 10, 60)
    rows = [list(row) for row in zip(range(7), data.categories, *data.rows, strict=True)]
    gnuplot(path, "unset key\nset border 3\nset tics nomirror\nplot $d using 1:3:xtic(2) with fsteps lw 2\n", rows)
    return data.truth("line")


def fresh_ggplot_dark(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 20, 160)
    ggplot(path, data, 'geom_col(aes(category, value), fill="orange", width=0.5) + theme_dark() + labs(x=NULL, y="t")')
    return data.truth("bar")


def fresh_ggplot_markers(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2012, 6), 6, 2, 200, 900)
    layers = "aes(category, value, colour=series, group=series) + geom_line() + geom_point(size=2)"
    theme = 'scale_colour_brewer(palette="Set1") + theme_light() + theme(legend.position="top")'
    ggplot(path, data, f"{layers} + {theme}")
    return data.truth("line")


def fresh_ggplot_slanted(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 5, 2, 3, 48)
    layers = 'geom_col(aes(category, value, fill=series), position="dodge", colour="black")'
    theme = "theme_minimal() + theme(axis.text.x=element_text(angle=45, hjust=1))"
    ggplot(path, data, f"{layers} + scale_fill_grey() + {theme}")
    return data.truth("bar")


def fresh_ggplot_pie(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, CITIES, 5, 1, 10, 40))
    ggplot(path, data, 'geom_col(aes("", value, fill=category), colour="white") + coord_polar("y") + theme_void()')
    return data.truth("pie")


def fresh_echarts_points(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, ["Urban", "Rural"], 7, 90, 30)
    pairs = zip(truth.points.items(), ("triangle", "diamond"), strict=True)
    series = [{"type": "scatter", "name": n, "data": p, "symbol": s, "symbolSize": 11} for (n, p), s in pairs]
    grid = {"right": 100}
    echarts(
        path, {"legend": {"right": 0, "orient": "vertical"}, "grid": grid, "xAxis": {}, "yAxis": {}, "series": series}
    )
    return truth


def fresh_plotly_columns(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 2, -50, 90)
    pairs = zip(data.series, data.rows, strict=True)
    traces: list[dict[str, object]] = [{"type": "bar", "name": n, "x": data.categories, "y": r} for n, r in pairs]
    legend = {"x": 0, "y": 1.12, "orientation": "h"}
    plotly(path, traces, {"template": "ggplot2", "legend": legend, "xaxis": {"side": "bottom"}})
    return Table(data.categories, data.series, data.rows).truth("bar")
