"""A chart's numbers as cells, as a table in Markdown and CSV, and what can be said of them at once."""

import csv
import io
import statistics
from dataclasses import dataclass

from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.linearised import table_rows, written
from saccade.types import Json


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
        return f"{self.name} = {written(self.value)}"


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
