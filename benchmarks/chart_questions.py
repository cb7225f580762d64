"""``answer_chart`` on 200 questions over 20 charts that are read perfectly: right, refused, wrong.

    python benchmarks/chart_questions.py [--misses] [--json FILE]

The charts are random tables (goods, cities, years, months; one to four series; bars, lines, pies). The questions are
worded as in ChartQA, PlotQA, DVQA and FigureQA and by hand; their true answers are worked out here from the table
alone, by other code than the tool's. A question without a true answer asks for what the chart does not say or can be
read in two ways: only a refusal is right. ``forms`` are those which the grammar was made with. ``paraphrases`` were
written afterwards: at first 100 of them were answered rightly, 44 refused needlessly and one answered wrongly; then the
grammar was mended and widened for them too.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from chart_question_texts import OF_ONE, OF_SEVERAL, PARAPHRASES_OF_ONE, PARAPHRASES_OF_SEVERAL
from foreign_tables import CITIES, GOODS, MONTHS, Table, table, years

from saccade.errors import ToolError
from saccade.quantities import parse_quantity
from saccade.readers.charts.chart import Chart, ChartKind, Series
from saccade.readers.charts.questions import answer
from saccade.seeding import generator_for

COLOURS = {"blue": (31, 90, 200), "orange": (250, 127, 30), "green": (44, 160, 44), "red": (214, 39, 40)}
Truth = str | float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """A table as the true answers need it, with names to ask for."""

    data: Table
    names: tuple[str, str, str]
    """Three categories."""

    def value(self, category: str, series: int = 0) -> float:
        return self.data.rows[series][self.data.categories.index(category)]

    def row(self, series: int = 0) -> list[float]:
        return self.data.rows[series]

    def column(self, category: str) -> list[float]:
        return [row[self.data.categories.index(category)] for row in self.data.rows]

    def at(self, place: int, series: int = 0) -> str:
        """The category at a place in the order of values, 0 the highest, -1 the lowest."""
        order = sorted(self.data.categories, key=lambda name: -self.value(name, series))
        return order[place]

    def by(self, measure: Callable[[list[float]], float], place: int) -> str:
        """The category at a place in the order of a measure over its series."""
        return sorted(self.data.categories, key=lambda name: -measure(self.column(name)))[place]

    def series_by(self, measure: Callable[[list[float]], float], place: int) -> str:
        pairs = zip(self.data.series, self.data.rows, strict=True)
        return sorted(pairs, key=lambda pair: -measure(pair[1]))[place][0]


Question = tuple[str, Callable[[Facts], Truth]]


def main() -> int:
    """Prints how many questions are answered rightly, refused, and answered wrongly."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=11)
    options.add_argument("--misses", action="store_true")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    figures = {}
    for name, one, several in (
        ("forms", OF_ONE, OF_SEVERAL),
        ("paraphrases", PARAPHRASES_OF_ONE, PARAPHRASES_OF_SEVERAL),
    ):
        figures[name] = _outcome(list(questions(chosen.seed, one, several)), shows_misses=chosen.misses)
        print(name, json.dumps(figures[name]))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def questions(seed: int, one: list[Question], several: list[Question]) -> Iterator[tuple[Chart, str, Truth]]:
    """Questions over twenty charts; each form is asked of one chart and then of the next."""
    drawn = [_chart(seed, number) for number in range(20)]
    places = {True: 0, False: 0}
    for _ in range(10):
        for chart, facts in drawn:
            is_one = len(facts.data.series) == 1
            listed = one if is_one else several
            text, truth = listed[places[is_one] % len(listed)]
            places[is_one] += 1
            yield chart, _worded(text, facts), truth(facts)


def _worded(text: str, facts: Facts) -> str:
    a, b, c = facts.names
    series = [*facts.data.series, "", ""]
    first, last = facts.data.categories[0], facts.data.categories[-1]
    return text.format(a=a, b=b, c=c, s=series[0], t=series[1], first=first, last=last)


def _chart(seed: int, number: int) -> tuple[Chart, Facts]:
    rng = generator_for(seed, "questions", number)
    names = (GOODS, CITIES, MONTHS, years(2008, 9))[number % 4]
    kind: ChartKind = ("bar", "line", "bar", "pie", "bar")[number % 5]  # type: ignore[assignment]
    count = 1 if kind == "pie" or number % 2 else int(rng.integers(2, 5))
    data = table(rng, names, int(rng.integers(5, 9)), count, 10, 95)
    steps = rng.permutation(np.arange(10, 96))[: len(data.categories) * count] + 0.5 * rng.integers(0, 2)
    rows = [[float(v) for v in steps[i::count]] for i in range(count)]
    data = Table(data.categories, data.series, rows)
    series = tuple(
        Series(name=name if count > 1 else "value", values=tuple(row), colour=colour)
        for name, row, colour in zip(data.series, data.rows, COLOURS.values(), strict=False)
    )
    chart = Chart(kind=kind, categories=tuple(data.categories), series=series, title="Sales of the year")
    chosen = [data.categories[int(i)] for i in rng.permutation(len(data.categories))[:3]]
    return chart, Facts(data, (chosen[0], chosen[1], chosen[2]))


def _outcome(asked: list[tuple[Chart, str, Truth]], *, shows_misses: bool) -> dict[str, int]:
    found = {"questions": len(asked), "right": 0, "refused": 0, "wrong": 0, "rightly refused": 0, "to refuse": 0}
    for chart, question, truth in asked:
        found["to refuse"] += truth is None
        try:
            reply = answer(chart, question).answer
        except ToolError as error:
            found["rightly refused" if truth is None else "refused"] += 1
            if shows_misses and truth is not None:
                print(f"  refused {question!r} ({truth}): {str(error)[:150]}")
            continue
        if truth is not None and _agrees(reply, truth):
            found["right"] += 1
        else:
            found["wrong"] += 1
            if shows_misses:
                print(f"  WRONG {question!r}: {reply!r}, not {truth!r}")
    return found


def _agrees(reply: str, truth: str | float) -> bool:
    if isinstance(truth, str):
        return reply.casefold() == truth.casefold()
    quantity = parse_quantity(reply)
    return quantity is not None and abs(quantity.value - truth) <= 1e-3 * max(1.0, abs(truth))


def mean(values: list[float]) -> float:
    """The mean of some values."""
    return statistics.fmean(values)


if __name__ == "__main__":
    sys.exit(main())
