"""The table of a chart: its cells, Markdown and CSV, and the one-line tables of chart models.

DePlot's rows end in ``<0x0A>``, UniChart's in ``&&``:

    DePlot    TITLE | Goods sold <0x0A> Item | 2020 | 2021 <0x0A> tea | 5 | 7
    UniChart  Item | 2020 | 2021 && tea | 5 | 7
"""

import csv
import io
import re
import statistics
from dataclasses import dataclass

from saccade.errors import ToolError
from saccade.quantities import parse_quantity
from saccade.readers.charts.chart import Axis, Chart, Series
from saccade.types import Json

MAX_ROWS = 512
MAX_COLUMNS = 64

_CELL = "|"
_TITLE = "TITLE"
_EMPTY = {"", "-", "–", "—", "n/a", "na", "nan", "none", "null"}


def parse_deplot(text: str) -> Chart:
    """The table of DePlot's output; line breaks end rows too. ``ToolError`` when it is none."""
    return _chart(_rows(text, re.compile(r"<0x0A>|\n")))


def parse_unichart(text: str) -> Chart:
    """The table of UniChart's output; task tokens are left out. ``ToolError`` when it is none."""
    return _chart(_rows(re.sub(r"</?s(?:_answer)?>|<extract_data_table>|<pad>", " ", text), re.compile(r"&&|\n")))


def table_rows(chart: Chart) -> list[list[str]]:
    """The chart's table as texts, header first: a category per row, or for scatter charts a point per row."""
    if chart.kind == "scatter":
        header = ["series", chart.x_axis.label or "x", chart.y_axis.label or "y"]
        points = [
            [series.name, value_text(x), value_text(y)]
            for series in chart.series
            for x, y in zip(series.xs, series.values, strict=True)
        ]
        return [header, *points]
    # The axis along which the categories lie has its name in the corner.
    axis = chart.y_axis if chart.is_horizontal else chart.x_axis
    header = [axis.label, *(series.name for series in chart.series)]
    columns = [[value_text(value) for value in series.values] for series in chart.series]
    return [header, *([category, *row] for category, *row in zip(chart.categories, *columns, strict=True))]


def value_text(value: float | None) -> str:
    """A value in at most five significant digits, or more where it is a whole number; empty for None."""
    if value is None:
        return ""
    rounded = float(f"{value:.5g}")
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < 1e15 else f"{rounded:.12g}"


def _rows(text: str, row_end: re.Pattern[str]) -> list[list[str]]:
    rows = [[cell.strip() for cell in row.split(_CELL)] for row in row_end.split(text) if row.strip()]
    if len(rows) > MAX_ROWS or any(len(row) > MAX_COLUMNS for row in rows):
        raise ToolError(f"the table is larger than {MAX_ROWS} rows of {MAX_COLUMNS} cells")
    return rows


def _chart(rows: list[list[str]]) -> Chart:
    title = ""
    if rows and rows[0][0].upper() == _TITLE:
        title = " ".join(rows.pop(0)[1:]).strip()
    if len(rows) < 2 or len(rows[0]) < 2:
        raise ToolError("the text is no table: it needs a header and a row, cells between |")
    (corner, *names), *body = rows
    for number, row in enumerate(body, start=1):
        if len(row) > len(names) + 1:
            raise ToolError(f"row {number} of the table has {len(row)} cells, but the header has {len(names) + 1}")
    # A model that ran out of tokens leaves its last row short: what it did not write is not known.
    cells = [[*row, *[""] * (len(names) + 1 - len(row))] for row in body]
    series = [
        Series(name=name, values=tuple(_value(row[column], row[0]) for row in cells))
        for column, name in enumerate(names, start=1)
    ]
    return Chart(
        kind="table",
        title=title,
        categories=tuple(row[0] for row in cells),
        series=tuple(series),
        x_axis=Axis(label=corner),
    )


def _value(cell: str, category: str) -> float | None:
    if cell.casefold() in _EMPTY:
        return None
    quantity = parse_quantity(cell)
    if quantity is None:
        raise ToolError(f"the table holds {cell[:40]!r} for {category[:40]!r}, which is no number")
    return quantity.value


@dataclass(frozen=True, slots=True)
class Cell:
    """One known value."""

    series: Series
    category: str
    value: float
    is_of_many: bool
    """Several series: then a category alone does not name a value."""

    @property
    def name(self) -> str:
        return f"{self.category} in {self.series.name}" if self.is_of_many else self.category

    @property
    def told(self) -> str:
        return f"{self.name} = {value_text(self.value)}"


def cells_of(chart: Chart) -> list[Cell]:
    """The known values by series, then by category; none of a scatter chart."""
    if chart.kind == "scatter":
        return []
    is_of_many = len(chart.series) > 1
    return [
        Cell(series, category, value, is_of_many)
        for series in chart.series
        for category, value in zip(chart.categories, series.values, strict=True)
        if value is not None
    ]


def markdown_of(chart: Chart) -> str:
    """The table with a header and rows between bars."""
    header, *rows = [[cell.replace("|", "/").replace("\n", " ") for cell in row] for row in table_rows(chart)]
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def csv_of(chart: Chart) -> str:
    """The table as comma-separated values, quoted where needed."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(table_rows(chart))
    return stream.getvalue()


def data_of(chart: Chart) -> dict[str, Json]:
    """The chart as JSON, values unrounded."""
    return {
        "kind": chart.name,
        "title": chart.title,
        "categories": list(chart.categories),
        "series": [_series_data(series) for series in chart.series],
        "x_axis": {"label": chart.x_axis.label, "ticks": list(chart.x_axis.ticks)},
        "y_axis": {"label": chart.y_axis.label, "ticks": list(chart.y_axis.ticks)},
        "confidence": chart.confidence,
    }


def summary_of(values: list[float]) -> dict[str, Json]:
    """Count, least, greatest, total, mean and median of at least one value."""
    return {
        "count": len(values),
        "min": min(values),
        "max": max(values),
        "total": sum(values),
        "mean": statistics.fmean(values),
        "median": statistics.median(values),
    }


def _series_data(series: Series) -> dict[str, Json]:
    data: dict[str, Json] = {"name": series.name, "values": list(series.values)}
    if series.xs:
        data["xs"] = list(series.xs)
    return data
