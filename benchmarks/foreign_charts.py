"""The classical chart reader on charts of other programs: what it reads, refuses, and gets wrong without a doubt.

    python benchmarks/foreign_charts.py draw FOLDER [--seed 7] [--count 2]
    python benchmarks/foreign_charts.py read FOLDER [--misses] [--json FILE]

Drawing needs what Saccade does not: ``pip install altair vl-convert-python plotly bokeh pygal cairosvg seaborn
matplotlib``, Debian's ``gnuplot-nox chromium r-cran-ggplot2``, and ``npm install echarts`` (the variable ECHARTS names
its folder). Each style is drawn ``count`` times with its truth beside it. The *tuned* half is what the reader was
developed with, at other seeds; no chart of the *held-out* half (other options of the same libraries) was used for that.

A value is right when it is within 5 % of the true one under its own names of category and series (case, spaces and
punctuation aside), and right by order when it stands at its place in an order of categories and series. Points are
right within 2 % of both ranges. A chart is silently wrong when the reader is sure of it (confidence of ``SURE``
and more) and a value is missing, made up, under a wrong name, or off by more than 5 % and by more than 1 % of the
chart's largest value.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from foreign_tables import Truth

from saccade.errors import ToolError
from saccade.media.decode import decode_image
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.classical import ClassicalReader
from saccade.readers.text.rapid import RapidReader
from saccade.seeding import generator_for

SURE = 0.8
TOLERANCE = 0.05
POINT_TOLERANCE = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One chart, read or refused."""

    name: str
    half: str
    values: int
    right: int
    right_by_order: int
    confidence: float
    is_wrong: bool
    refusal: str = ""

    @property
    def is_silently_wrong(self) -> bool:
        return self.is_wrong and not self.refusal and self.confidence >= SURE


def main() -> int:
    """Draws all charts, or prints what is read of them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("work", choices=("draw", "read"))
    options.add_argument("folder", type=Path)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--count", type=int, default=2, help="charts of each style")
    options.add_argument("--only", default="", help="names that begin with this")
    options.add_argument("--misses", action="store_true", help="print each chart that is not right")
    options.add_argument("--json", type=Path, help="where to write the results")
    chosen = options.parse_args()
    if chosen.work == "draw":
        draw_all(chosen.folder, chosen.seed, chosen.count, chosen.only)
        return 0
    outcomes = read_all(chosen.folder, chosen.only, chosen.misses)
    halves = {half: summary([one for one in outcomes if one.half == half]) for half in ("tuned", "held-out")}
    print(json.dumps(halves, indent=1))
    if chosen.json:
        charts = [asdict(one) for one in outcomes]
        chosen.json.write_text(json.dumps({"halves": halves, "charts": charts}, indent=1) + "\n")
    return 0


def styles() -> dict[str, tuple[str, Callable[[Path, np.random.Generator], Truth]]]:
    """Half and drawing function of each style by its name."""
    import foreign_held_out
    import foreign_held_out_pyplot
    import foreign_tuned
    import foreign_tuned_later
    import foreign_tuned_later_pyplot
    import foreign_tuned_pyplot

    tuned = ("vega_", "plotly_", "gnuplot_", "seaborn_", "mpl_")
    later = ("echarts_", "pygal_", "ggplot_", "bokeh_", "pyplot_")
    found = {}
    for half, module, prefixes in (
        ("tuned", foreign_tuned, tuned),
        ("tuned", foreign_tuned_pyplot, tuned),
        ("tuned", foreign_tuned_later, later),
        ("tuned", foreign_tuned_later_pyplot, later),
        ("held-out", foreign_held_out, ("fresh_",)),
        ("held-out", foreign_held_out_pyplot, ("fresh_",)),
    ):
        for name, value in vars(module).items():
            if name.startswith(prefixes) and callable(value):
                found[name] = (half, value)
    return found


def draw_all(folder: Path, seed: int, count: int, only: str) -> None:
    """A PNG and a JSON of its truth for each style and number."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (half, draw) in styles().items():
        if not name.startswith(only):
            continue
        for number in range(count):
            path = (folder / f"{name}_{number}.png").absolute()
            truth = draw(path, generator_for(seed, "foreign", name, number))
            path.with_suffix(".json").write_text(json.dumps({"half": half, **asdict(truth)}))
        print(name, flush=True)


def read_all(folder: Path, only: str, shows_misses: bool) -> list[Outcome]:
    """The outcome for each picture of a folder."""
    reader = ClassicalReader(RapidReader())
    outcomes = []
    for path in sorted(folder.glob(f"{only}*.json")):
        facts = json.loads(path.read_text())
        half = facts.pop("half")
        read, refusal = None, ""
        try:
            read = reader.read(decode_image(path.with_suffix(".png").read_bytes(), path.stem))
        except ToolError as error:
            refusal = str(error)
        outcomes.append(outcome_of(path.stem, half, Truth(**facts), read, refusal))
        if shows_misses and (outcomes[-1].is_wrong or outcomes[-1].confidence < SURE):
            print(outcomes[-1])
            if read is not None:
                told = (read.name, read.confidence, getattr(read, "doubts", ()), _told(read))
                print("   ", told, "\n    true", facts["values"] or facts["points"])
    return outcomes


def outcome_of(name: str, half: str, truth: Truth, read: Chart | None, refusal: str) -> Outcome:
    """How much of a chart is read."""
    judge = _points if truth.points else _values
    count = sum(map(len, (truth.points or truth.values).values()))
    right, by_order, is_wrong = (0, 0, False) if read is None else judge(truth, read)
    return Outcome(
        name=name,
        half=half,
        values=count,
        right=right,
        right_by_order=by_order,
        confidence=0.0 if read is None else read.confidence,
        is_wrong=is_wrong,
        refusal=refusal,
    )


def summary(outcomes: list[Outcome]) -> dict[str, object]:
    """The figures of one half; those with "mean" weigh each chart alike."""
    values = sum(one.values for one in outcomes)
    if not values:
        return {}
    return {
        "charts": len(outcomes),
        "values": values,
        "right_under_names": round(sum(one.right for one in outcomes) / values, 3),
        "right_by_order": round(sum(one.right_by_order for one in outcomes) / values, 3),
        "mean_right_under_names": round(float(np.mean([one.right / one.values for one in outcomes])), 3),
        "refused": sum(bool(one.refusal) for one in outcomes),
        "doubted": sum(not one.refusal and one.confidence < SURE for one in outcomes),
        "silently_wrong": sum(one.is_silently_wrong for one in outcomes),
        "silently_wrong_charts": [one.name for one in outcomes if one.is_silently_wrong],
    }


def _values(truth: Truth, read: Chart) -> tuple[int, int, bool]:
    """Values right under their names, right by order, and whether anything is wrong, missing or made up."""
    if read.kind == "scatter":
        return 0, 0, True
    is_of_many = len(truth.values) > 1
    true = {(_key(s), _key(c)): value for s, row in truth.values.items() for c, value in row.items()}
    found: dict[tuple[str, str], float] = {}
    for series in read.series:
        for category, value in zip(read.categories, series.values, strict=True):
            if value is not None:
                found[_key(series.name) if is_of_many else "", _key(category)] = value
    right = sum(key in found and _is_right(found[key], value) for key, value in true.items())
    largest = max(map(abs, true.values()))
    is_wrong = set(found) != set(true) or any(
        not _is_right(found[key], value) and abs(found[key] - value) > 0.01 * largest for key, value in true.items()
    )
    return right, _by_order(truth, read), is_wrong


def _by_order(truth: Truth, read: Chart) -> int:
    rows = [list(row.values()) for row in truth.values.values()]
    found = [list(series.values) for series in read.series]
    if read.kind == "pie":
        slices, true = [value for row in found for value in row], rows[0]
        turns = [order[i:] + order[:i] for order in (slices, slices[::-1]) for i in range(len(slices))]
        return max(_matches(turn, true) for turn in turns)
    turns = [[row[::way] for row in found[::order]] for way in (1, -1) for order in (1, -1)]
    return max(sum(_matches(one, two) for one, two in zip(turn, rows, strict=False)) for turn in turns)


def _matches(read: list[float | None], true: list[float]) -> int:
    pairs = zip(read, true, strict=False)
    return sum(seen is not None and _is_right(seen, value) for seen, value in pairs)


def _is_right(seen: float, value: float) -> bool:
    return abs(seen - value) <= TOLERANCE * abs(value)


def _points(truth: Truth, read: Chart) -> tuple[int, int, bool]:
    if read.kind != "scatter":
        return 0, 0, True
    every = np.array([point for points in truth.points.values() for point in points])
    reach = POINT_TOLERANCE * np.ptp(every, axis=0)
    named = {_key(series.name): series for series in read.series}
    right = 0
    for name, points in truth.points.items():
        series = named.get(_key(name)) if len(truth.points) > 1 else read.series[0]
        right += 0 if series is None else _met(points, list(zip(series.xs, series.values, strict=True)), reach)
    together = [point for series in read.series for point in zip(series.xs, series.values, strict=True)]
    return (
        right,
        _met(list(map(tuple, every.tolist())), together, reach),
        right < len(every) or len(together) > len(every),
    )


def _met(true: list[tuple[float, float]], read: list[tuple[float, float | None]], reach: np.ndarray) -> int:
    """Points that have one read within reach, matched one to one."""
    left, met = list(read), 0
    for x, y in true:
        near = [(max(abs(a - x) / reach[0], abs((b or 0.0) - y) / reach[1]), (a, b)) for a, b in left]
        if near and min(near)[0] <= 1:
            left.remove(min(near)[1])
            met += 1
    return met


def _key(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _told(chart: Chart) -> object:
    return chart.categories, [
        (series.name, [None if value is None else float(f"{value:.4g}") for value in series.values])
        for series in chart.series
    ]


if __name__ == "__main__":
    sys.exit(main())
