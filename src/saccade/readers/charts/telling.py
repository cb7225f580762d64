"""A chart in words: a caption, its colours, what stands out in its numbers."""

from collections.abc import Sequence
from itertools import pairwise

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.colours import colour_name, hex_of
from saccade.readers.charts.linearised import written
from saccade.readers.charts.questions import trend_of
from saccade.readers.charts.table import Cell, cells_of, summary_of
from saccade.types import Json

MAX_NAMED = 12


def caption_of(chart: Chart) -> str:
    """Two or three sentences: what is drawn, over what, where it is highest and lowest."""
    kind = f"{chart.name} chart" if chart.kind != "table" else "table"
    article = "An" if kind[0] in "aeiou" else "A"
    title = f' titled "{chart.title}"' if chart.title else ""
    names = _listed([series.name for series in chart.series])
    if chart.kind == "scatter":
        count = sum(len(series.values) for series in chart.series)
        return f"{article} {kind}{title} with {count} points in {len(chart.series)} series ({names})."
    over = f"{len(chart.categories)} categories ({_listed(chart.categories)})"
    series = f" for {len(chart.series)} series ({names})" if len(chart.series) > 1 else ""
    cells = cells_of(chart)
    if not cells:
        return f"{article} {kind}{title} over {over}{series}, none of whose values is known."
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    extremes = f"The highest value is {written(highest.value)} ({highest.name}), the lowest {written(lowest.value)} "
    return f"{article} {kind}{title} over {over}{series}. {extremes}({lowest.name})."


def colours_of(chart: Chart) -> list[dict[str, Json]]:
    """Series, or slices and bars of one series, with their colours. ``ToolError`` when the reader gave none."""
    rows: list[dict[str, Json]] = []
    for series in chart.series:
        if series.colours:
            pairs = zip(chart.categories, series.colours, strict=True)
            rows += [_colour_row(category, colour) for category, colour in pairs if colour is not None]
        elif series.colour is not None:
            rows.append(_colour_row(series.name, series.colour))
    if not rows:
        raise ToolError("the colours of this chart are not known: its reader gives numbers only")
    return rows


def analysis_of(chart: Chart) -> tuple[str, dict[str, Json]]:
    """Per series: extremes, total, mean, trend, largest change; over all: the greatest and least."""
    if chart.kind == "scatter":
        return _scatter_analysis(chart)
    cells = cells_of(chart)
    if not cells:
        raise ToolError("no value of the chart is known, so there is nothing to analyse")
    lines, data = [], []
    for series in chart.series:
        own = [cell for cell in cells if cell.series is series]
        if own:
            text, row = _series_analysis(chart, series, own)
            lines.append(text)
            data.append(row)
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    lines.append(f"overall: highest {highest.told}, lowest {lowest.told}")
    overall: dict[str, Json] = {"highest": highest.name, "lowest": lowest.name}
    return "\n".join(lines), {"series": data, "overall": overall}


def _series_analysis(chart: Chart, series: Series, cells: Sequence[Cell]) -> tuple[str, dict[str, Json]]:
    values = [cell.value for cell in cells]
    numbers = summary_of(values)
    highest, lowest = max(cells, key=_value), min(cells, key=_value)
    differences = [after - before for before, after in pairwise(values)]
    row: dict[str, Json] = {
        "name": series.name,
        **numbers,
        "highest": highest.category,
        "lowest": lowest.category,
        "differences": list(differences),
        "trend": trend_of(values),
    }
    mean, total = sum(values) / len(values), sum(values)
    text = (
        f"{series.name}: {len(values)} values, highest {highest.category} = {written(highest.value)}, "
        f"lowest {lowest.category} = {written(lowest.value)}, total {written(total)}, mean {written(mean)}"
    )
    # The order of slices or goods means nothing; along an axis of time a trend may.
    if chart.kind != "pie":
        text += f", trend {row['trend']}"
    if differences:
        text += f", differences {', '.join(written(step) for step in differences[:MAX_NAMED])}"
    return text, row


def _scatter_analysis(chart: Chart) -> tuple[str, dict[str, Json]]:
    lines: list[str] = []
    data: list[dict[str, Json]] = []
    for series in chart.series:
        ys = [y for y in series.values if y is not None]
        row: dict[str, Json] = {"name": series.name, "x": summary_of(list(series.xs)), "y": summary_of(ys)}
        data.append(row)
        lines.append(
            f"{series.name}: {len(ys)} points, x from {written(min(series.xs))} to {written(max(series.xs))}, "
            f"y from {written(min(ys))} to {written(max(ys))}"
        )
    return "\n".join(lines), {"series": data}


def _colour_row(name: str, colour: tuple[int, int, int]) -> dict[str, Json]:
    return {"name": name, "colour": hex_of(colour), "colour_name": colour_name(colour), "rgb": list(colour)}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _value(cell: Cell) -> float:
    return cell.value
