"""A chart as a graph: title, axes, series, categories and marks, and how they belong together and compare."""

from itertools import pairwise

from saccade.readers.charts.chart import Chart
from saccade.readers.charts.colours import colour_name, hex_of
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
