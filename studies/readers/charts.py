"""The classical chart reader on fresh procedural charts: how many values it reads within 5 %.

    python -m studies.readers.charts [--count 200] [--seed 20] [--kinds bars,pies] [--misses] [--json FILE]

Bars, lines and pies are those of Saccade's task families (bars half of ``chart_bars``, half of ``colour_bars``); rows
with "drawn" and the other kinds are matplotlib charts in random styles. Every chart counts: a refusal, a wrong number
of values or a series that is missing is a miss of every value that it leaves unread. A value is right when it is within
5 % of the true one, at its category in order and at the series of its name, or, when a name was misread, at the series
that is left; names are counted apart. A chart is right when all its values are and there are no
others. For scatter charts a point is right when both coordinates are within 2 % of the range of all true points. The
seed is none of those that the reader was developed with (those are below 10). Times are processor seconds per chart.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.errors import ToolError
from saccade.gym.drawn import chart_bars, chart_lines, chart_pie
from saccade.readers.charts.chart import Arrangement, Chart, ChartKind, Series
from saccade.readers.charts.classical import ClassicalReader
from saccade.readers.text.rapid import RapidReader
from saccade.seeding import generator_for
from saccade.tasks.drawing import COLOUR_NAMES, DAYS, ITEMS
from saccade.tasks.scene import Scene, pick_several, whole_knob
from saccade.testing.drawn_charts import DrawnChart, draw_chart

TOLERANCE = 0.05
POINT_TOLERANCE = 0.02
ROWS = (
    "bars",
    "grouped",
    "stacked",
    "horizontal",
    "lines",
    "pies",
    "scatter",
    "bars drawn",
    "lines drawn",
    "pies drawn",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One chart, read or refused."""

    values: int
    right: int
    extra: int
    labels_right: bool
    kind_right: bool
    refusal: str
    errors: tuple[float, ...]
    cpu_s: float

    @property
    def is_right(self) -> bool:
        return self.right == self.values and not self.extra


def main() -> int:
    """Prints a line for each kind of charts."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=200, help="charts of each kind")
    options.add_argument("--seed", type=int, default=20)
    options.add_argument("--kinds", default=",".join(ROWS))
    options.add_argument("--misses", action="store_true", help="print each chart that is not right")
    options.add_argument("--save", type=Path, help="folder for the pictures that are not right")
    options.add_argument("--json", type=Path, help="where to write the results")
    chosen = options.parse_args()
    reader = ClassicalReader(RapidReader())
    reader.read(drawn("bars drawn", generator_for(0, "warm")).image)
    rows = {}
    for kind in chosen.kinds.split(","):
        outcomes = []
        for index in range(chosen.count):
            chart = drawn(kind, generator_for(chosen.seed, "charts", kind, index))
            outcome, read = outcome_of(reader, chart)
            outcomes.append(outcome)
            if not outcome.is_right and chosen.misses:
                print(f"  {kind} {index}: {outcome.right}/{outcome.values} +{outcome.extra} {outcome.refusal}")
                if read is not None and not outcome.refusal:
                    print("     true", _told(chart.chart))
                    print("     read", _told(read), read.kind, read.arrangement)
                if chosen.save:
                    chart.image.save(chosen.save / f"{kind.replace(' ', '_')}_{index}.png")
            if chosen.json and (index + 1) % 20 == 0:
                rows[kind] = summary(outcomes)
                chosen.json.write_text(json.dumps({"seed": chosen.seed, "kinds": rows}, indent=1) + "\n")
        rows[kind] = summary(outcomes)
        print(f"{kind:12} {json.dumps(rows[kind])}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps({"seed": chosen.seed, "kinds": rows}, indent=1) + "\n")
    return 0


def drawn(kind: str, rng: Generator) -> DrawnChart:
    """A chart of one of ``ROWS``."""
    families = {"bars": _family_bars, "lines": _family_lines, "pies": _family_pies}
    return families[kind](rng) if kind in families else draw_chart(kind.removesuffix(" drawn"), rng)


def outcome_of(reader: ClassicalReader, drawn_chart: DrawnChart) -> tuple[Outcome, Chart | None]:
    """How much of a chart is read."""
    truth = drawn_chart.chart
    total = sum(len(series.values) for series in truth.series)
    started = time.process_time()
    refusal, read = "", None
    try:
        read = reader.read(drawn_chart.image)
    except ToolError as error:
        refusal = str(error).partition(":")[0]
    cpu_s = time.process_time() - started
    right, extra, errors = 0, 0, []
    if read is not None:
        right, extra, errors = (_points if truth.kind == "scatter" else _values)(truth, read)
    return (
        Outcome(
            values=total,
            right=right,
            extra=extra,
            labels_right=read is not None and _names(read) == _names(truth),
            kind_right=read is not None and read.name == truth.name,
            refusal=refusal,
            errors=tuple(errors),
            cpu_s=cpu_s,
        ),
        read,
    )


def summary(outcomes: list[Outcome]) -> dict[str, object]:
    """The row of one kind."""
    values, right = sum(one.values for one in outcomes), sum(one.right for one in outcomes)
    errors = [error for one in outcomes for error in one.errors]
    return {
        "charts": len(outcomes),
        "charts_right": sum(one.is_right for one in outcomes),
        "values": values,
        "values_right": right,
        "values_right_share": round(right / values, 4),
        "charts_right_share": round(sum(one.is_right for one in outcomes) / len(outcomes), 4),
        "extra_values": sum(one.extra for one in outcomes),
        "kind_right": sum(one.kind_right for one in outcomes),
        "names_exact": sum(one.labels_right for one in outcomes),
        "refusals": dict(Counter(one.refusal for one in outcomes if one.refusal)),
        "median_error": round(statistics.median(errors), 5) if errors else None,
        "median_cpu_s": round(statistics.median(one.cpu_s for one in outcomes), 3),
    }


def _values(truth: Chart, read: Chart) -> tuple[int, int, list[float]]:
    """Right values, values too many, relative errors; series and categories by order, pies from any first slice."""
    true = [list(series.values) for series in truth.series]
    if read.kind == "pie":
        return _turned(true[0], read)
    found = [list(series.values) for series in read.series]
    if read.is_horizontal and read.categories and truth.categories and _reversed(truth, read):
        found = [column[::-1] for column in found]
    if not truth.series[0].name or len(truth.series) == 1:
        order = list(range(len(found)))
    else:
        by_name = {series.name: index for index, series in enumerate(read.series)}
        rest = iter([index for index in range(len(found)) if read.series[index].name not in _series_names(truth)])
        order = [by_name[series.name] if series.name in by_name else next(rest, -1) for series in truth.series]
    right, errors = 0, []
    for index, column in enumerate(true):
        guess = found[order[index]] if index < len(order) and 0 <= order[index] < len(found) else []
        for value, seen in zip(column, guess):
            if seen is not None and value is not None:
                errors.append(abs(seen - value) / abs(value))
                right += errors[-1] <= TOLERANCE
    seen_values = sum(value is not None for column in found for value in column)
    return right, max(0, seen_values - sum(map(len, true))), errors


def _turned(true: list[float | None], read: Chart) -> tuple[int, int, list[float]]:
    """Slices are compared in the order round the circle, in either direction, from the best first slice."""
    found = [value for series in read.series for value in series.values if value is not None]
    best: tuple[int, list[float]] = (0, [])
    for order in (found, found[::-1]):
        for shift in range(max(1, len(order))):
            turned = order[shift:] + order[:shift]
            errors = [abs(seen - value) / value for seen, value in zip(turned, true) if value]
            right = sum(error <= TOLERANCE for error in errors)
            if right > best[0]:
                best = (right, errors)
    return best[0], max(0, len(found) - len(true)), best[1]


def _reversed(truth: Chart, read: Chart) -> bool:
    """Whether the bars were drawn from the bottom up: the true first name is then read last, or nearer to it."""
    same = sum(one == other for one, other in zip(truth.categories, read.categories))
    turned = sum(one == other for one, other in zip(truth.categories, read.categories[::-1]))
    return turned > same


def _points(truth: Chart, read: Chart) -> tuple[int, int, list[float]]:
    """Points that are matched one to one, of all series together and then by series' order."""
    xs = [x for series in truth.series for x in series.xs]
    ys = [y for series in truth.series for y in series.values if y is not None]
    reach_x, reach_y = POINT_TOLERANCE * (max(xs) - min(xs)), POINT_TOLERANCE * (max(ys) - min(ys))
    right, errors, count = 0, [], 0
    names = {series.name: series for series in read.series}
    for index, series in enumerate(truth.series):
        fallback = read.series[index] if index < len(read.series) else None
        seen = (names.get(series.name) or fallback) if len(truth.series) > 1 else fallback
        left = list(zip(seen.xs, seen.values)) if seen is not None and seen.xs else []
        for x, y in zip(series.xs, series.values):
            distances = [max(abs(a - x) / reach_x, abs((b or 0) - (y or 0)) / reach_y) for a, b in left]
            if distances and min(distances) <= 1:
                nearest = int(np.argmin(distances))
                errors.append(distances[nearest] * POINT_TOLERANCE)
                left.pop(nearest)
                right += 1
    count = sum(len(series.values) for series in read.series)
    return right, max(0, count - len(xs)), errors


def _series_names(chart: Chart) -> set[str]:
    return {series.name for series in chart.series}


def _names(chart: Chart) -> object:
    series = sorted(series.name for series in chart.series) if len(chart.series) > 1 else []
    return sorted(chart.categories), series


def _told(chart: Chart) -> object:
    return chart.categories, [
        (series.name, [None if value is None else float(f"{value:.4g}") for value in series.values])
        for series in chart.series
    ]


def _truth(kind: ChartKind, categories: tuple[str, ...], series: tuple[Series, ...]) -> Chart:
    arrangement: Arrangement = "single"
    return Chart(kind=kind, arrangement=arrangement, categories=categories, series=series)


def _twins(rng: Generator) -> tuple[Generator, Generator]:
    """Two generators that give the same numbers: one draws the scene, the other tells what was drawn."""
    seed = int(rng.integers(1 << 62))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def _family_bars(rng: Generator) -> DrawnChart:
    difficulty, is_code = float(rng.random()), bool(rng.integers(2))
    first, second = _twins(rng)
    scene = (chart_bars.draw_colour_bars if is_code else chart_bars.draw_chart_bars)(first, difficulty)
    count = whole_knob(difficulty, 3, 5, 7)
    items, _ = pick_several(second, ITEMS, count), pick_several(second, COLOUR_NAMES, count)
    if is_code:
        allowed = chart_bars.VALUES[:: 5 if difficulty < 0.25 else 1]
        values = [allowed[int(i)] for i in second.permutation(len(allowed))[:count]]
    else:
        values = chart_bars._values(
            second, [v for v in chart_bars.values_for(difficulty) if v != chart_bars.LINE], count
        )
    _check(scene, {float(chart_bars.height_of(value)) for value in values})
    series = (Series(name="", values=tuple(float(value) for value in values)),)
    return DrawnChart(image=_one(scene), chart=_truth("bar", items, series))


def _family_lines(rng: Generator) -> DrawnChart:
    difficulty = float(rng.random())
    first, second = _twins(rng)
    scene = chart_lines.draw_chart_lines(first, difficulty)
    days = whole_knob(difficulty, 4, 5, 7)
    colours = pick_several(second, COLOUR_NAMES, whole_knob(difficulty, 1, 2, 3))
    values = chart_lines._values(second, list(chart_bars.values_for(difficulty)), len(colours), days)
    series = tuple(
        Series(name=colour, values=tuple(float(value) for value in line))
        for colour, line in zip(colours, values, strict=True)
    )
    tops = {chart_bars.height_of(value) - chart_lines.MARKER_PX for line in values for value in line}
    _check(scene, {float(top) for top in tops})
    return DrawnChart(image=_one(scene), chart=_truth("line", DAYS[:days], series))


def _family_pies(rng: Generator) -> DrawnChart:
    difficulty = float(rng.random())
    first, second = _twins(rng)
    scene = chart_pie.draw_chart_pie(first, difficulty)
    count = whole_knob(difficulty, 2, 4, 6)
    shares = chart_pie._shares(second, count, 10 if difficulty < 0.5 else 5)
    items = pick_several(second, ITEMS, count)
    if not {target.label for target in scene.asked.targets} <= set(items):
        raise RuntimeError("the family chart_pie draws in another order than this benchmark thinks")
    series = (Series(name="", values=tuple(float(share) for share in shares)),)
    return DrawnChart(image=_one(scene), chart=_truth("pie", items, series))


def _check(scene: Scene, tops: set[float]) -> None:
    """The scene's targets must end where the values say, or the truth is not what was drawn."""
    for target in scene.asked.targets:
        if min(abs(target.box.y1 - top) for top in tops) > 1:
            raise RuntimeError("a chart family draws in another order than this benchmark thinks")


def _one(scene: Scene) -> Image.Image:
    return scene.images[0]


if __name__ == "__main__":
    sys.exit(main())
