"""Meanings of questions on a table, and replies: a number, names, yes or no, with the steps to it."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.table import Cell, cells_of, value_text

READING_ERROR = 0.004
"""Share of the largest value; values read from pixels that are nearer than this are not told apart."""

AGGREGATES: Mapping[str, Callable[[list[float]], float]] = MappingProxyType(
    {
        "sum": sum,
        "mean": statistics.fmean,
        "median": statistics.median,
        "range": lambda values: max(values) - min(values),
    }
)
Dimension = Literal["category", "series"]
Relation = Literal["above", "below", "at least", "at most", "equal"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """An answer, its number if it is one, and the steps that led to it."""

    answer: str
    value: float | None
    steps: tuple[str, ...]


Reply = Callable[[Chart], Found]


@dataclass(frozen=True, slots=True)
class NamedParts:
    """Categories and series that are named; None for all of them."""

    categories: tuple[str, ...] | None = None
    series: tuple[Series, ...] | None = None

    def cells(self, chart: Chart) -> list[Cell]:
        cells = [
            cell
            for cell in cells_of(chart)
            if (self.series is None or cell.series in self.series)
            and (self.categories is None or cell.category in self.categories)
        ]
        if not cells:
            raise ToolError("no value of these names is known")
        return cells


@dataclass(frozen=True, slots=True)
class Value:
    """One cell."""

    selection: NamedParts


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number worked out over all cells of a selection; ``name`` is one of ``AGGREGATES``."""

    name: str
    selection: NamedParts


@dataclass(frozen=True, slots=True)
class Extreme:
    """The highest or lowest cell, or the one ``place`` places after it."""

    is_highest: bool
    selection: NamedParts
    place: int = 0


@dataclass(frozen=True, slots=True)
class Scaled:
    """Some times a number: twice, half."""

    factor: float
    of: "Number"


@dataclass(frozen=True, slots=True)
class Sum:
    """Two numbers that are added."""

    one: "Number"
    other: "Number"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that the question says."""

    value: float


Number = Value | Aggregate | Extreme | Scaled | Sum | Constant


@dataclass(frozen=True, slots=True)
class Known:
    """A number with what to call it and how it came about."""

    value: float
    name: str
    told: str


def number(chart: Chart, asked: Number) -> Known:
    """The value; ``ToolError`` where the names do not make it one."""
    match asked:
        case Constant(value):
            return Known(value, value_text(value), value_text(value))
        case Scaled(factor, of):
            inner = number(chart, of)
            return Known(factor * inner.value, f"{value_text(factor)} times {inner.name}", inner.told)
        case Sum(one, other):
            first, second = pair(chart, one, other)
            return Known(first.value + second.value, "the sum", f"{first.told}; {second.told}")
        case Value(selection):
            cells = selection.cells(chart)
            if len(cells) != 1:
                raise ToolError("the names fit several values; name the category and, of several series, the series")
            return Known(cells[0].value, cells[0].name, cells[0].told)
        case Aggregate(name, selection):
            values = [cell.value for cell in selection.cells(chart)]
            value = AGGREGATES[name](values)
            told = f"{name} of {', '.join(map(value_text, values))} = {value_text(value)}"
            return Known(value, f"the {name}", told)
        case Extreme(is_highest, selection, place):
            cell = ranked_cells(chart, selection, is_highest=is_highest, place=place, is_name=False)[place]
            return Known(cell.value, cell.name, f"{'highest' if is_highest else 'lowest'}: {cell.told}")


def ranked_cells(
    chart: Chart, selection: NamedParts, *, is_highest: bool, place: int, is_name: bool = True
) -> list[Cell]:
    """The cells from the extreme on; ``ToolError`` where the cell at the place is not told from its neighbours."""
    cells = sorted(selection.cells(chart), key=lambda cell: cell.value, reverse=is_highest)
    if len(cells) <= place:
        raise ToolError("there are too few values")
    if is_name:
        for one, other in zip(cells[max(0, place - 1) : place + 1], cells[max(0, place - 1) + 1 :], strict=False):
            apart(chart, one.value, other.value, one.name, other.name)
    return cells


def apart(chart: Chart, one: float, other: float, name: str, other_name: str) -> None:
    """``ToolError`` where two values cannot be told apart as surely as the chart was read."""
    if abs(one - other) <= reach(chart):
        how = "are equal" if one == other else "are too near to each other to be told apart"
        raise ToolError(f"{name} and {other_name} {how}")


def reach(chart: Chart) -> float:
    """How far values may be from what was drawn; nothing for a table whose numbers were written."""
    if chart.kind == "table":
        return 0.0
    return READING_ERROR * max((abs(cell.value) for cell in cells_of(chart)), default=0.0)


def together(one: Number, other: Number) -> tuple[Number, Number]:
    """Both numbers with what is said once behind them, as in "A and B in 2020" or "the highest and lowest value of A".

    What the first names is not taken over to the second: "A in 2020 and B" may mean all of B.
    """
    if isinstance(one, Extreme) and isinstance(other, Extreme) and one.selection == NamedParts():
        return replace(one, selection=other.selection), other
    if not isinstance(one, Value) or not isinstance(other, Value):
        return one, other
    first, second = one.selection, other.selection
    merged = NamedParts(
        categories=second.categories if first.categories is None else first.categories,
        series=second.series if first.series is None else first.series,
    )
    return Value(merged), other


def pair(chart: Chart, one: Number, other: Number) -> tuple[Known, Known]:
    """Two numbers that are compared; ``ToolError`` where one names a series and the other leaves it open."""
    one, other = together(one, other)
    if len(chart.series) > 1:
        pins = {_pin(each) for each in (one, other)} - {None}
        if len(pins) > 1:
            raise ToolError("one side names a series and the other does not; name the series of both")
    return number(chart, one), number(chart, other)


def _pin(asked: Number) -> bool | None:
    match asked:
        case Constant():
            return None
        case Scaled(_, of) | Sum(_, of):
            return _pin(of)
        case Value(selection) | Aggregate(_, selection) | Extreme(_, selection, _):
            return selection.series is not None


def holds(chart: Chart, value: float, relation: Relation, limit: float) -> bool:
    """Whether a value keeps a relation; ``ToolError`` where that is nearer than a chart can be read."""
    apart_by = value - limit
    if abs(apart_by) <= reach(chart) and (apart_by != 0 or relation != "equal"):
        how = "is" if apart_by == 0 else "is too near to"
        raise ToolError(f"{value_text(value)} {how} {value_text(limit)}, which cannot be read so exactly from a chart")
    answers: dict[Relation, bool] = {
        "above": apart_by > 0,
        "below": apart_by < 0,
        "at least": apart_by >= 0,
        "at most": apart_by <= 0,
        "equal": apart_by == 0,
    }
    return answers[relation]


def number_found(value: float, *steps: str) -> Found:
    """A number as an answer."""
    return Found(answer=value_text(value), value=value, steps=steps)
