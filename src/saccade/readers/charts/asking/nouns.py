"""Which names of a chart a noun of a question means: those of its categories, of its series, or single marks."""

import re
from typing import Literal

from saccade.errors import ToolError
from saccade.readers.charts.asking.meaning import Dimension, NamedParts
from saccade.readers.charts.chart import Chart

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "mon tue wed thu fri sat sun"


def dimension_of(
    noun: str | None, chart: Chart, selection: NamedParts, *, counts_cells: bool = False
) -> Dimension | Literal["cell"]:
    """What a noun asks for; ``ToolError`` where it does not fit the chart's names or is not clear.

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
