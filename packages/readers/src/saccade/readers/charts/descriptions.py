"""Descriptions of a chart: its scene graph, a caption, its colours, an analysis of its numbers."""

from collections.abc import Sequence
from itertools import pairwise

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.colours import colour_name, hex_of
from saccade.readers.charts.questions import trend_of
from saccade.readers.charts.table import Cell, cells_of, summary_of, value_text
from saccade.types import Json

MAX_MARKS = 400


def scene_graph_of(chart: Chart) -> dict[str, Json]:
    """Objects with ids, attributes and boxes (pixels, where known), and relations between ids.

    Relations: ``part_of`` (series to chart), ``belongs_to`` (mark to series), ``stands_for`` (mark to category),
    ``next_to`` (category to the one after it), ``greater_than`` (mark to the next smaller one of its series).
    """
    objects: list[Json] = [{"id": "chart", "type": "chart", "kind": chart.name, "title": chart.title}]
    relations: list[Json] = []
    for index, category in enumerate(chart.categories):
        objects.append({"id": f"category_{index}", "type": "category", "name": category})
    for index, _ in list(enumerate(chart.categories))[:-1]:
        relations.append(_relation(f"category_{index}", "next_to", f"category_{index + 1}"))
    count = 0
    for number, series in enumerate(chart.series):
        about: dict[str, Json] = {"id": f"series_{number}", "type": "series", "name": series.name}
        if series.colour is not None:
            about |= {"colour": hex_of(series.colour), "colour_name": colour_name(series.colour)}
        objects.append(about)
        relations.append(_relation(f"series_{number}", "part_of", "chart"))
        marks: list[tuple[float, str]] = []
        for index, value in enumerate(series.values):
            if value is None or count == MAX_MARKS:
                continue
            count += 1
            name = f"mark_{number}_{index}"
            objects.append(_mark(chart, number, index, name, value))
            relations.append(_relation(name, "belongs_to", f"series_{number}"))
            if chart.categories:
                relations.append(_relation(name, "stands_for", f"category_{index}"))
            marks.append((value, name))
        for (value, name), (other, smaller) in pairwise(sorted(marks, reverse=True)):
            if value > other:
                relations.append(_relation(name, "greater_than", smaller))
    return {"objects": objects, "relations": relations}


def _mark(chart: Chart, number: int, index: int, name: str, value: float) -> dict[str, Json]:
    series = chart.series[number]
    shape = {"bar": "bar", "line": "point", "pie": "slice", "scatter": "point", "table": "cell"}[chart.kind]
    mark: dict[str, Json] = {"id": name, "type": shape, "value": value}
    if series.xs:
        mark["x"] = series.xs[index]
    box = series.boxes[index] if index < len(series.boxes) else None
    if box is not None:
        mark["box"] = [round(float(side), 1) for side in box.as_tuple()]
    colour = series.colours[index] if index < len(series.colours) else series.colour
    if colour is not None:
        mark["colour"] = hex_of(colour)
    return mark


def _relation(subject: str, name: str, other: str) -> dict[str, Json]:
    return {"subject": subject, "relation": name, "object": other}


MAX_NAMED = 12


def caption_of(chart: Chart) -> str:
    """Two or three sentences: what is drawn, over what, where it is highest and lowest."""
    kind = f"{chart.name} chart" if chart.kind != "table" else "table"
    article = "An" if kind[0] in "aeiou" else "A"
    title = f' titled "{chart.title}"' if chart.title else ""
    names = _names_text([series.name for series in chart.series])
    if chart.kind == "scatter":
        count = sum(len(series.values) for series in chart.series)
        return f"{article} {kind}{title} with {count} points in {len(chart.series)} series ({names})."
    over = f"{len(chart.categories)} categories ({_names_text(chart.categories)})"
    series = f" for {len(chart.series)} series ({names})" if len(chart.series) > 1 else ""
    cells = cells_of(chart)
    if not cells:
        return f"{article} {kind}{title} over {over}{series}, none of whose values is known."
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    extremes = (
        f"The highest value is {value_text(highest.value)} ({highest.name}), the lowest {value_text(lowest.value)} "
    )
    return f"{article} {kind}{title} over {over}{series}. {extremes}({lowest.name})."


def colours_of(chart: Chart) -> list[dict[str, Json]]:
    """Series, or slices and bars of one series, with their colours. ``ToolError`` when the reader gave none."""
    rows: list[dict[str, Json]] = []
    for series in chart.series:
        if series.colours:
            pairs = zip(chart.categories, series.colours, strict=True)
            rows += [_colour_row(category, colour) for category, colour in pairs if colour is not None]
        elif series.colour is not None:
            rows.append(_colour_row(series.name, series.colour))
    if not rows:
        raise ToolError("the colours of this chart are not known: its reader gives numbers only")
    return rows


def analysis_of(chart: Chart) -> tuple[str, dict[str, Json]]:
    """Per series: extremes, total, mean, trend, largest change; over all: the greatest and least."""
    if chart.kind == "scatter":
        return _scatter_analysis(chart)
    cells = cells_of(chart)
    if not cells:
        raise ToolError("no value of the chart is known, so there is nothing to analyse")
    lines, data = [], []
    for series in chart.series:
        own = [cell for cell in cells if cell.series is series]
        if own:
            text, row = _series_analysis(chart, series, own)
            lines.append(text)
            data.append(row)
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    lines.append(f"overall: highest {highest.told}, lowest {lowest.told}")
    overall: dict[str, Json] = {"highest": highest.name, "lowest": lowest.name}
    return "\n".join(lines), {"series": data, "overall": overall}


def _series_analysis(chart: Chart, series: Series, cells: Sequence[Cell]) -> tuple[str, dict[str, Json]]:
    values = [cell.value for cell in cells]
    numbers = summary_of(values)
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    differences = [after - before for before, after in pairwise(values)]
    row: dict[str, Json] = {
        "name": series.name,
        **numbers,
        "highest": highest.category,
        "lowest": lowest.category,
        "differences": list(differences),
        "trend": trend_of(values),
    }
    mean, total = sum(values) / len(values), sum(values)
    text = (
        f"{series.name}: {len(values)} values, highest {highest.category} = {value_text(highest.value)}, "
        f"lowest {lowest.category} = {value_text(lowest.value)}, total {value_text(total)}, mean {value_text(mean)}"
    )
    # The order of slices or goods means nothing; along an axis of time a trend may.
    if chart.kind != "pie":
        text += f", trend {row['trend']}"
    if differences:
        text += f", differences {', '.join(value_text(step) for step in differences[:MAX_NAMED])}"
    return text, row


def _scatter_analysis(chart: Chart) -> tuple[str, dict[str, Json]]:
    lines: list[str] = []
    data: list[dict[str, Json]] = []
    for series in chart.series:
        ys = [y for y in series.values if y is not None]
        row: dict[str, Json] = {"name": series.name, "x": summary_of(list(series.xs)), "y": summary_of(ys)}
        data.append(row)
        lines.append(
            f"{series.name}: {len(ys)} points, x from {value_text(min(series.xs))} to {value_text(max(series.xs))}, "
            f"y from {value_text(min(ys))} to {value_text(max(ys))}"
        )
    return "\n".join(lines), {"series": data}


def _colour_row(name: str, colour: tuple[int, int, int]) -> dict[str, Json]:
    return {"name": name, "colour": hex_of(colour), "colour_name": colour_name(colour), "rgb": list(colour)}


def _names_text(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _value(cell: Cell) -> float:
    return cell.value
