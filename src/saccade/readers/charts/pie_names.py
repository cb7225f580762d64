"""A pie or ring as a chart: shares from the slices, names from the legend or from the texts that stand nearest."""

import math

import numpy as np

from saccade.geometry import Box
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.layout import title_of
from saccade.readers.charts.legend import Legend
from saccade.readers.charts.pies import Disc, Slice
from saccade.readers.text.lines import TextLine


def pie_of(disc: Disc, slices: tuple[Slice, ...], legend: Legend, lines: tuple[TextLine, ...]) -> Chart:
    """The chart of a disc that was found; the legend's lines are not among ``lines``."""
    names, is_sure = _slice_names(disc, slices, legend, lines)
    total = sum(part.extent for part in slices)
    shares = tuple(100 * part.extent / total for part in slices)
    series = Series(
        name="share",
        values=shares,
        colours=tuple(part.colour for part in slices),
        boxes=tuple(_slice_box(disc, part) for part in slices),
    )
    return Chart(
        kind="pie",
        title=title_of(lines, disc.box.y1 - 0.35 * disc.radius),
        categories=tuple(names),
        series=(series,),
        confidence=round(0.95 if is_sure else 0.6, 3),
    )


def _slice_names(
    disc: Disc, slices: tuple[Slice, ...], legend: Legend, lines: tuple[TextLine, ...]
) -> tuple[list[str], bool]:
    """The names in the slices' order, and whether all were read; one that was not is called by its number."""
    named = [legend.name(part.colour) for part in slices]
    if all(named):
        return [name or "" for name in named], True
    # Printed shares stand in the slices or beside the names, and a title is higher than any name.
    top = disc.box.y1 - 0.2 * disc.radius
    texts = [line for line in lines if not line.text.endswith("%") and line.box.y2 > top]
    texts = [line for line in texts if _reach(disc, line.box) < 1.75]
    outside = [line for line in texts if _reach(disc, line.box) > 0.9]
    texts = outside if len(outside) >= len(slices) else texts
    turns = [
        (_turn(_angle(disc, line.box), part.middle), place, number)
        for place, line in enumerate(texts)
        for number, part in enumerate(slices)
    ]
    names: dict[int, str] = {}
    used: set[int] = set()
    for turn, place, number in sorted(turns):
        if place not in used and number not in names and turn <= max(12.0, slices[number].extent / 2):
            names[number] = texts[place].text
            used.add(place)
    return [names.get(number, f"slice {number + 1}") for number in range(len(slices))], len(names) == len(slices)


def _reach(disc: Disc, box: Box) -> float:
    return math.hypot(box.center.x - disc.center.x, box.center.y - disc.center.y) / disc.radius


def _angle(disc: Disc, box: Box) -> float:
    return math.degrees(math.atan2(box.center.y - disc.center.y, box.center.x - disc.center.x)) % 360


def _turn(one: float, other: float) -> float:
    return abs((one - other + 180) % 360 - 180)


def _slice_box(disc: Disc, part: Slice) -> Box:
    """Around the slice's arc and the centre."""
    angles = np.radians(part.start + np.linspace(0, part.extent, 32))
    xs = [disc.center.x, *(disc.center.x + disc.radius * np.cos(angles))]
    ys = [disc.center.y, *(disc.center.y + disc.radius * np.sin(angles))]
    return Box(float(min(xs)), float(min(ys)), float(max(xs)), float(max(ys)))
