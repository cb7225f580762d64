"""Meanings of the question forms on numbers: values, differences, ratios, shares, changes, truths.

A noun of a question means the categories of the chart, its series, or single marks.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from saccade.errors import ToolError
from saccade.readers.charts.asking import replies
from saccade.readers.charts.asking.matching import Bound
from saccade.readers.charts.asking.meaning import Aggregate, Dimension, NamedParts, Number, Relation, Reply, Value
from saccade.readers.charts.chart import Chart

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "mon tue wed thu fri sat sun"


def dimension_of(
    noun: str | None, chart: Chart, selection: NamedParts, *, counts_cells: bool = False
) -> Dimension | Literal["cell"]:
    """The dimension that a noun means; ``ToolError`` where it does not fit the chart's names or is not clear.

    ``counts_cells`` says that without a noun single values are meant.
    """
    match noun:
        case "CATEGORY":
            return "category"
        case "SERIES":
            _needs_series(chart)
            return "series"
        case "LINE":
            if chart.kind != "line":
                raise ToolError("the chart shows no lines")
            _needs_series(chart)
            return "series"
        case "MARK":
            return "category" if len(chart.series) == 1 else "cell"
        case "COLOUR":
            raise ToolError("colours are told of a name only; ask what colour something has")
        case "YEAR" | "MONTH" | "DAY":
            fitting = [dimension for dimension, names in _names(chart) if _is_time(names, noun)]
        case _:
            if noun is None and counts_cells:
                return "cell"
            fitting = [dimension for dimension, names in _names(chart) if noun is None or not _is_any_time(names)]
            if noun is None and len(fitting) > 1 and selection == NamedParts():
                return "cell"
    if len(fitting) > 1:
        pinned = {"category": selection.categories, "series": selection.series}
        fitting = [dimension for dimension in fitting if not pinned[dimension]]
    if len(fitting) != 1:
        raise ToolError("it is not clear what of the chart is asked for; say category or series")
    return fitting[0]


def needs_one_series(chart: Chart, selection: NamedParts, what: str) -> None:
    """``ToolError`` where a chart has several series and none is named."""
    if len(chart.series) > 1 and selection.series is None:
        raise ToolError(f"say {what}")


def _needs_series(chart: Chart) -> None:
    if len(chart.series) == 1:
        raise ToolError("the chart has one series, which has no name")


def _names(chart: Chart) -> list[tuple[Dimension, tuple[str, ...]]]:
    found: list[tuple[Dimension, tuple[str, ...]]] = [("category", chart.categories)]
    if len(chart.series) > 1:
        found.append(("series", tuple(series.name for series in chart.series)))
    return found


def _is_time(names: tuple[str, ...], noun: str) -> bool:
    if noun == "YEAR":
        return all(re.fullmatch(r"(?:1[5-9]|20)\d\d", name) for name in names)
    known = _MONTHS if noun == "MONTH" else _DAYS
    return all(name.casefold()[:3] in known.split() for name in names)


def _is_any_time(names: tuple[str, ...]) -> bool:
    return any(_is_time(names, noun) for noun in ("YEAR", "MONTH", "DAY"))


Form = Callable[[Bound, Chart], Reply]


def number(bound: Bound, chart: Chart) -> Reply:
    asked = bound.numbers[0]
    return replies.cells_reply(asked.selection) if isinstance(asked, Value) else replies.number_reply(asked)


def percent(bound: Bound, chart: Chart) -> Reply:
    if chart.kind != "pie":
        raise ToolError("it is not clear of what the percentage is; ask for a value, or for a share of a total")
    return number(bound, chart)


def difference(bound: Bound, chart: Chart) -> Reply:
    return replies.difference_reply(*bound.numbers)


def difference_within(bound: Bound, chart: Chart) -> Reply:
    selection = bound.selection or NamedParts()
    return replies.difference_reply(*(inside(one, selection) for one in bound.numbers))


def excess(is_more: bool) -> Form:
    return lambda bound, chart: replies.difference_reply(*bound.numbers, is_more=is_more)


def span(is_more: bool | None) -> Form:
    """The difference from the first of two numbers to the second."""
    return lambda bound, chart: replies.difference_reply(*bound.numbers[::-1], is_more=is_more)


def ratio(bound: Bound, chart: Chart) -> Reply:
    return replies.ratio_reply(*bound.numbers)


def turned_ratio(bound: Bound, chart: Chart) -> Reply:
    return replies.ratio_reply(*bound.numbers[::-1])


def percent_of(bound: Bound, chart: Chart) -> Reply:
    return replies.ratio_reply(*bound.numbers, percent=True)


def turned_percent_of(bound: Bound, chart: Chart) -> Reply:
    return replies.ratio_reply(*bound.numbers[::-1], percent=True)


def change(is_growth: bool | None) -> Form:
    return lambda bound, chart: replies.change_reply(*bound.numbers, is_growth=is_growth)


def excess_percent(is_growth: bool) -> Form:
    return lambda bound, chart: replies.change_reply(*bound.numbers[::-1], is_growth=is_growth)


def series_change(is_growth: bool | None, *, percent: bool) -> Form:
    """From one category to another in a series: "By how much did red grow from 2019 to 2020"."""

    def form(bound: Bound, chart: Chart) -> Reply:
        selection = bound.selection or NamedParts()
        first, second = (within(one, selection) for one in bound.numbers)
        if percent:
            return replies.change_reply(first, second, is_growth=is_growth)
        return replies.difference_reply(second, first, is_more=is_growth)

    return form


def inside(asked: Number, selection: NamedParts) -> Value:
    """A cell within what is named apart from it."""
    if not isinstance(asked, Value):
        raise ToolError("a difference within something is one of named values")
    own = asked.selection
    if (own.series and selection.series) or (own.categories and selection.categories):
        raise ToolError("the names do not fit together")
    return Value(NamedParts(categories=own.categories or selection.categories, series=own.series or selection.series))


def within(asked: Number, selection: NamedParts) -> Number:
    if not isinstance(asked, Value) or selection.categories is not None:
        raise ToolError("a change is told from one category to another")
    return Value(replace(asked.selection, series=asked.selection.series or selection.series))


def share(bound: Bound, chart: Chart) -> Reply:
    asked = bound.numbers[0]
    if not isinstance(asked, Value):
        raise ToolError("a share is told of something that is named")
    part = asked.selection
    if part.series is None:
        needs_one_series(chart, NamedParts(), "of which series' total the share is asked for")
        return replies.share_reply(part, NamedParts())
    if part.categories is None:
        return replies.share_reply(part, NamedParts())
    raise ToolError("it is not clear whether the share is one of the series' total or of the category's")


def is_true(relation: Relation | None = None) -> Form:
    def form(bound: Bound, chart: Chart) -> Reply:
        meant = relation or bound.relation
        if meant is None or len(bound.numbers) != 2:
            raise ToolError("name two numbers to compare")
        return replies.truth_reply(bound.numbers[0], meant, bound.numbers[1])

    return form


def is_more_of(relation: Relation) -> Form:
    """Whether one name's total or average is above another's."""

    def form(bound: Bound, chart: Chart) -> Reply:
        one, other = (
            NamedParts((t.category,) if t.category else None, (t.series,) if t.series else None) for t in bound.things
        )
        if bound.measure is None or (one.series is None) != (other.series is None):
            raise ToolError("say of both whether values, totals or averages are compared")
        return replies.truth_reply(Aggregate(bound.measure, one), relation, Aggregate(bound.measure, other))

    return form


def trend(bound: Bound, chart: Chart) -> Reply:
    return replies.trend_reply(bound.selection or NamedParts())


def colour(bound: Bound, chart: Chart) -> Reply:
    return replies.colour_reply(bound.things[0].series, bound.things[0].category)
