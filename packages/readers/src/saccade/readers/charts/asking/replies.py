"""The replies to questions that ask for numbers: each a function of the chart."""

from collections.abc import Sequence
from itertools import pairwise

from saccade.errors import ToolError
from saccade.readers.charts.asking.meaning import (
    Found,
    Known,
    NamedParts,
    Number,
    Relation,
    Reply,
    holds,
    number,
    number_found,
    pair,
)
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.colours import colour_name
from saccade.readers.charts.table import value_text


def number_reply(asked: Number) -> Reply:
    def reply(chart: Chart) -> Found:
        found = number(chart, asked)
        return number_found(found.value, found.told)

    return reply


def cells_reply(selection: NamedParts) -> Reply:
    """All values of a name, where it has several."""

    def reply(chart: Chart) -> Found:
        told = tuple(cell.told for cell in selection.cells(chart))
        if len(told) == 1:
            return number_found(selection.cells(chart)[0].value, *told)
        return Found(answer="; ".join(told), value=None, steps=told)

    return reply


def difference_reply(one: Number, other: Number, *, is_more: bool | None = None) -> Reply:
    """How far apart two numbers are; ``is_more`` says which of them the question holds to be the larger."""

    def reply(chart: Chart) -> Found:
        first, second = pair(chart, one, other)
        value = first.value - second.value
        if is_more is not None and (value > 0) != is_more:
            raise ToolError(f"{first.told}, {second.told}: the first is not {'more' if is_more else 'less'}")
        told = f"|{value_text(first.value)} - {value_text(second.value)}| = {value_text(abs(value))}"
        return number_found(abs(value), first.told, second.told, told)

    return reply


def ratio_reply(one: Number, other: Number, *, percent: bool = False) -> Reply:
    def reply(chart: Chart) -> Found:
        first, second = pair(chart, one, other)
        value = _divided(first, second) * (100 if percent else 1)
        unit = " * 100" if percent else ""
        told = f"{value_text(first.value)} / {value_text(second.value)}{unit} = {value_text(value)}"
        return number_found(value, first.told, second.told, told)

    return reply


def change_reply(one: Number, other: Number, *, is_growth: bool | None = None) -> Reply:
    """The change from one number to another in percent of the first; positive as the question has it."""

    def reply(chart: Chart) -> Found:
        first, second = pair(chart, one, other)
        value = 100 * (_divided(second, first) - 1)
        if is_growth is not None and (value > 0) != is_growth:
            raise ToolError(f"{first.told}, {second.told}: there is no {'growth' if is_growth else 'decline'}")
        value = value if is_growth is None else abs(value)
        return number_found(value, first.told, second.told, f"change = {value_text(value)} %")

    return reply


def share_reply(part: NamedParts, whole: NamedParts) -> Reply:
    def reply(chart: Chart) -> Found:
        one = sum(cell.value for cell in part.cells(chart))
        cells = whole.cells(chart)
        if any(cell.value < 0 for cell in cells) or not sum(cell.value for cell in cells):
            raise ToolError("shares are told of values that are not negative and do not add up to zero")
        total = sum(cell.value for cell in cells)
        value = 100 * one / total
        return number_found(
            value, f"part = {value_text(one)}", f"total = {value_text(total)}", f"share = {value_text(value)} %"
        )

    return reply


def truth_reply(one: Number, relation: Relation, other: Number) -> Reply:
    def reply(chart: Chart) -> Found:
        first, second = pair(chart, one, other)
        is_so = holds(chart, first.value, relation, second.value)
        return Found(answer="yes" if is_so else "no", value=None, steps=(first.told, second.told))

    return reply


def trend_reply(selection: NamedParts) -> Reply:
    def reply(chart: Chart) -> Found:
        cells = selection.cells(chart)
        if len({cell.series.name for cell in cells}) > 1:
            raise ToolError("name the series whose trend is asked for")
        values = [cell.value for cell in cells]
        word = trend_of(values)
        told = f"from {value_text(values[0])} to {value_text(values[-1])}: {word}"
        return Found(answer=word, value=None, steps=(told,))

    return reply


def colour_reply(series: Series | None, category: str | None) -> Reply:
    def reply(chart: Chart) -> Found:
        colour = None if series is None else series.colour
        if category is not None and len(chart.series) == 1 and chart.series[0].colours:
            colour = dict(zip(chart.categories, chart.series[0].colours, strict=True))[category]
        if colour is None:
            raise ToolError("the colour of this is not known")
        return Found(answer=colour_name(colour), value=None, steps=(f"rgb {colour}",))

    return reply


def trend_of(values: Sequence[float]) -> str:
    """``rising``, ``falling``, ``steady`` or ``mixed``, by whether every step goes one way, or nearly the whole way."""
    steps = [after - before for before, after in pairwise(values)]
    way = sum(abs(step) for step in steps)
    if not steps or way <= 0.02 * max(abs(value) for value in values):
        return "steady"
    if abs(values[-1] - values[0]) < 0.6 * way:
        return "mixed"
    return "rising" if values[-1] > values[0] else "falling"


def _divided(one: Known, other: Known) -> float:
    if other.value == 0:
        raise ToolError(f"{other.name} is zero, so there is no ratio")
    return one.value / other.value
