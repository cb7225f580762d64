"""The replies to questions that ask for names, orders and counts."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from saccade.errors import ToolError
from saccade.readers.charts.asking.meaning import (
    AGGREGATES,
    Dimension,
    Found,
    NamedParts,
    Number,
    Relation,
    Reply,
    Value,
    apart,
    holds,
    number,
    number_found,
    pair,
    ranked_cells,
)
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.table import Cell, value_text


def extreme_cell_reply(selection: NamedParts, *, is_highest: bool, place: int) -> Reply:
    """The name of the cell that is highest or lowest."""

    def reply(chart: Chart) -> Found:
        cell = ranked_cells(chart, selection, is_highest=is_highest, place=place)[place]
        order = ("", "second ", "third ", "fourth ", "fifth ")[place]
        told = f"{order}{'highest' if is_highest else 'lowest'}: {cell.told}"
        return Found(answer=_which(cell, selection, chart), value=cell.value, steps=(told,))

    return reply


def extreme_of_reply(
    dimension: Dimension, selection: NamedParts, measure: str, *, is_highest: bool, place: int = 0
) -> Reply:
    """The category or series whose total, mean, ... is extreme."""

    def reply(chart: Chart) -> Found:
        rows = sorted(
            _measure_by_name(chart, dimension, selection, measure), key=lambda row: row[1], reverse=is_highest
        )
        if len(rows) <= place:
            raise ToolError("there are too few values")
        for one, other in pairwise(rows[max(0, place - 1) : place + 2]):
            apart(chart, one[1], other[1], one[0], other[0])
        told = ", ".join(f"{name} = {value_text(value)}" for name, value in rows)
        return Found(answer=rows[place][0], value=rows[place][1], steps=(f"{measure}: {told}",))

    return reply


def greater_reply(numbers: Sequence[tuple[str, Number]], *, is_highest: bool) -> Reply:
    """The name of the largest or smallest of some numbers."""

    def reply(chart: Chart) -> Found:
        if len(numbers) == 2:
            values = list(pair(chart, numbers[0][1], numbers[1][1]))
        else:
            values = [number(chart, one) for _, one in numbers]
        named = list(zip((name for name, _ in numbers), values, strict=True))
        named.sort(key=lambda entry: entry[1].value, reverse=is_highest)
        apart(chart, named[0][1].value, named[1][1].value, named[0][0], named[1][0])
        return Found(answer=named[0][0], value=named[0][1].value, steps=tuple(value.told for value in values))

    return reply


def extreme_truth_reply(one: Number, *, is_highest: bool) -> Reply:
    """Whether a value is the highest or lowest of its series, and no other value of another series counts."""

    def reply(chart: Chart) -> Found:
        known = number(chart, one)
        cells = ranked_cells(chart, NamedParts(), is_highest=is_highest, place=0)
        return Found(answer="yes" if cells[0].name == known.name else "no", value=None, steps=(cells[0].told,))

    return reply


def count_reply(selection: NamedParts, relation: Relation, limits: Sequence[Number], *, lists: bool = False) -> Reply:
    """How many values, or which, keep a relation to a number or lie between two."""

    def reply(chart: Chart) -> Found:
        bounds = [number(chart, limit).value for limit in limits]
        if len(bounds) == 2:
            bounds.sort()
            kept = [
                cell
                for cell in selection.cells(chart)
                if holds(chart, cell.value, "above", bounds[0]) and holds(chart, cell.value, "below", bounds[1])
            ]
        else:
            # "larger than tea" is not asked of tea itself.
            own = {cell.name for limit in limits if isinstance(limit, Value) for cell in limit.selection.cells(chart)}
            cells = [cell for cell in selection.cells(chart) if cell.name not in own]
            kept = [cell for cell in cells if holds(chart, cell.value, relation, bounds[0])]
        limit = " and ".join(map(value_text, bounds))
        told = f"{relation} {limit}: {', '.join(cell.told for cell in kept) or 'none'}"
        if lists:
            names = ", ".join(_which(cell, selection, chart) for cell in kept) or "none"
            return Found(answer=names, value=None, steps=(told,))
        return number_found(float(len(kept)), told)

    return reply


def pairs_reply(one: Series, relation: Relation, other: Series, *, lists: bool) -> Reply:
    """In how many categories one series keeps a relation to another, or which categories these are."""

    def reply(chart: Chart) -> Found:
        kept = []
        for category, first, second in zip(chart.categories, one.values, other.values, strict=True):
            if first is None or second is None:
                raise ToolError(f"a value of {category} is not known")
            if holds(chart, first, relation, second):
                kept.append(category)
        told = f"{one.name} {relation} {other.name}: {', '.join(kept) or 'none'}"
        if lists:
            return Found(answer=", ".join(kept) or "none", value=None, steps=(told,))
        return number_found(float(len(kept)), told)

    return reply


def names_reply(dimension: Dimension, *, counts: bool) -> Reply:
    def reply(chart: Chart) -> Found:
        names = chart.categories if dimension == "category" else tuple(one.name for one in chart.series)
        told = f"{len(names)}: {', '.join(names)}"
        return (
            number_found(float(len(names)), told)
            if counts
            else Found(answer=", ".join(names), value=None, steps=(told,))
        )

    return reply


def values_count_reply(selection: NamedParts) -> Reply:
    def reply(chart: Chart) -> Found:
        count = len(selection.cells(chart))
        return number_found(float(count), f"{count} values")

    return reply


def colours_count_reply() -> Reply:
    """How many colours the marks have."""

    def reply(chart: Chart) -> Found:
        colours = [series.colour for series in chart.series if series.colour is not None]
        if len(chart.series) == 1 and chart.series[0].colours:
            colours = [colour for colour in chart.series[0].colours if colour is not None]
        if not colours:
            raise ToolError("the colours of this chart are not known")
        return number_found(float(len(set(colours))), f"{len(set(colours))} colours")

    return reply


def order_reply(selection: NamedParts, *, is_highest: bool, count: int | None = None) -> Reply:
    def reply(chart: Chart) -> Found:
        cells = sorted(selection.cells(chart), key=lambda cell: cell.value, reverse=is_highest)
        for one, other in pairwise(cells if count is None else cells[: count + 1]):
            apart(chart, one.value, other.value, one.name, other.name)
        cells = cells[:count]
        names = ", ".join(_which(cell, selection, chart) for cell in cells)
        return Found(answer=names, value=None, steps=tuple(cell.told for cell in cells))

    return reply


def _measure_by_name(
    chart: Chart, dimension: Dimension, selection: NamedParts, measure: str
) -> list[tuple[str, float]]:
    rows: dict[str, list[float]] = {}
    for cell in selection.cells(chart):
        rows.setdefault(cell.category if dimension == "category" else cell.series.name, []).append(cell.value)
    if measure == "value":
        if any(len(values) > 1 for values in rows.values()):
            raise ToolError("each name has several values; say which, or ask for the total or the average")
        return [(name, values[0]) for name, values in rows.items()]
    if measure in ("sum", "mean", "median") and len({len(values) for values in rows.values()}) > 1:
        raise ToolError("some values are not known, so totals and averages cannot be compared")
    if measure == "difference":
        if any(len(values) != 2 for values in rows.values()):
            raise ToolError("a difference needs two values each; name two")
        return [(name, abs(values[0] - values[1])) for name, values in rows.items()]
    functions: dict[str, Callable[[list[float]], float]] = {**AGGREGATES, "highest": max, "least": min}
    function = functions[measure]
    return [(name, function(values)) for name, values in rows.items()]


def _which(cell: Cell, selection: NamedParts, chart: Chart) -> str:
    """The words that tell the cell from the others that were asked for."""
    if len(chart.series) == 1 or (selection.series is not None and len(selection.series) == 1):
        return cell.category
    return cell.series.name if selection.categories is not None and len(selection.categories) == 1 else cell.name
