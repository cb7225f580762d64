"""Meanings of the question forms on names: which is extreme or greater, how many, in which order."""

from collections.abc import Callable

from saccade.errors import ToolError
from saccade.readers.charts.asking import rankings
from saccade.readers.charts.asking.matching import Bound
from saccade.readers.charts.asking.meaning import (
    Aggregate,
    Dimension,
    Found,
    NamedParts,
    Number,
    Relation,
    Reply,
    Value,
)
from saccade.readers.charts.asking.number_forms import dimension_of, inside
from saccade.readers.charts.chart import Chart

Form = Callable[[Bound, Chart], Reply]


def bare_extreme(bound: Bound, chart: Chart) -> Reply:
    return rankings.extreme_cell_reply(
        bound.selection or NamedParts(), is_highest=bound.is_highest is True, place=bound.place
    )


def extreme(bound: Bound, chart: Chart) -> Reply:
    """Which category or series is the highest, by its value, total or average."""
    selection = bound.selection or NamedParts()
    is_highest, place = bound.is_highest is True, bound.place
    dimension = dimension_of(bound.noun, chart, selection)
    if dimension == "cell":
        if bound.measure is not None:
            raise ToolError("name what has the total: a category or a series")
        return rankings.extreme_cell_reply(selection, is_highest=is_highest, place=place)
    others = selection.series if dimension == "category" else selection.categories
    count = len(chart.series) if dimension == "category" else len(chart.categories)
    if bound.measure is not None or count == 1 or (others is not None and len(others) == 1):
        measure = "value" if count == 1 else bound.measure or "value"
        return rankings.extreme_of_reply(dimension, selection, measure, is_highest=is_highest, place=place)
    if place:
        raise ToolError("it is not clear whether single values or totals are put in order; say the total, or name one")
    readings = [
        rankings.extreme_of_reply(dimension, selection, measure, is_highest=is_highest, place=place)
        for measure in ("highest" if is_highest else "least", "sum")
    ]
    return agreeing(readings)


def agreeing(readings: list[Reply]) -> Reply:
    """The reply on which all readings of an ambiguous question agree."""

    def reply(chart: Chart) -> Found:
        found = [reading(chart) for reading in readings]
        if len({one.answer for one in found}) > 1:
            raise ToolError("it is not clear whether single values or totals are compared; say the total, or name one")
        return found[0]

    return reply


def extreme_difference(bound: Bound, chart: Chart) -> Reply:
    selection = bound.selection or NamedParts()
    dimension = dimension_of(bound.noun, chart, selection)
    others = selection.series if dimension == "category" else selection.categories
    if dimension == "cell" or others is None or len(others) != 2:
        raise ToolError("name the two whose difference is compared")
    return rankings.extreme_of_reply(dimension, selection, "difference", is_highest=bound.is_highest is True)


def greater(is_highest: bool) -> Form:
    def form(bound: Bound, chart: Chart) -> Reply:
        return rankings.greater_reply(listed_numbers(bound), is_highest=is_highest)

    return form


def greatest(bound: Bound, chart: Chart) -> Reply:
    if bound.place:
        raise ToolError("only the first of several is told; ask for an order")
    return rankings.greater_reply(listed_numbers(bound), is_highest=bound.is_highest is True)


def listed_numbers(bound: Bound) -> list[tuple[str, Number]]:
    """The listed numbers within what is named beside them; totals of names where these are asked for."""
    said = bound.selection or NamedParts()
    found: list[tuple[str, Number]] = []
    for name, number in bound.listed:
        if isinstance(number, Value):
            merged = inside(number, said)
            measured = Aggregate(bound.measure, merged.selection) if bound.measure else merged
            found.append((name, measured))
        elif bound.selection is not None or bound.measure is not None:
            raise ToolError("say of both what is added up")
        else:
            found.append((name, number))
    return found


def is_extreme(bound: Bound, chart: Chart) -> Reply:
    asked = bound.numbers[0]
    if not isinstance(asked, Value) or bound.place or len(chart.series) > 1:
        raise ToolError("whether something is the highest is told of a chart with one series; ask which is")
    return rankings.extreme_truth_reply(asked, is_highest=bound.is_highest is True)


def count(*, lists: bool = False, between: bool = False) -> Form:
    def form(bound: Bound, chart: Chart) -> Reply:
        selection = bound.selection or NamedParts()
        dimension = dimension_of(bound.noun, chart, selection, counts_cells=True)
        pinned = selection.series if dimension == "category" else selection.categories
        many = len(chart.series) if dimension == "category" else len(chart.categories)
        if dimension != "cell" and many > 1 and (pinned is None or len(pinned) != 1):
            raise ToolError("say of which one the values are counted; each name has several values")
        if len(chart.series) > 1 and any(isinstance(limit, Aggregate) for limit in bound.numbers):
            raise ToolError("name the limit as a number")
        relation: Relation | None = "above" if between else bound.relation
        if relation is None:
            raise ToolError("say above or below which number values are counted")
        return rankings.count_reply(selection, relation, bound.numbers, lists=lists)

    return form


def count_pairs(relation: Relation | None = None, *, lists: bool) -> Form:
    """In how many categories, or which, one series is above another."""

    def form(bound: Bound, chart: Chart) -> Reply:
        one, other = bound.things
        if one.series is None or other.series is None or dimension_of(bound.noun, chart, NamedParts()) != "category":
            raise ToolError("name two series that are compared in each category")
        meant = relation or bound.relation
        if meant is None:
            raise ToolError("say above or below")
        return rankings.pairs_reply(one.series, meant, other.series, lists=lists)

    return form


def things(*, counts: bool) -> Form:
    def form(bound: Bound, chart: Chart) -> Reply:
        if bound.noun == "COLOUR" and counts:
            return rankings.colours_count_reply()
        if bound.noun == "MARK":
            if not counts:
                raise ToolError("the marks of a chart have no names; ask for the categories or the series")
            return rankings.values_count_reply(NamedParts())
        dimension = dimension_of(bound.noun, chart, NamedParts())
        if dimension == "cell":
            raise ToolError("say what is counted: categories, series or bars")
        return rankings.names_reply(dimension, counts=counts)

    return form


def values(bound: Bound, chart: Chart) -> Reply:
    return rankings.values_count_reply(bound.selection or NamedParts())


def order(is_highest: bool | None = None) -> Form:
    def form(bound: Bound, chart: Chart) -> Reply:
        selection = bound.selection or NamedParts()
        dimension: Dimension | str = dimension_of(bound.noun, chart, selection)
        if dimension != "cell":
            others = selection.series if dimension == "category" else selection.categories
            many = len(chart.series) if dimension == "category" else len(chart.categories)
            if many > 1 and (others is None or len(others) != 1):
                raise ToolError("name the one by whose values they are put in order")
        highest = bound.is_highest is True if is_highest is None else is_highest
        return rankings.order_reply(selection, is_highest=highest, count=bound.count)

    return form


def name(bound: Bound, chart: Chart) -> Reply:
    return lambda chart: Found(answer=bound.things[0].said, value=None, steps=("by the colours of the legend",))
