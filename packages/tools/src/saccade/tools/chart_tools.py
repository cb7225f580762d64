"""Tools over a reader of charts: tables, drawings, graphs, captions, colours, analysis and answers."""

import json
from typing import Annotated, Literal

from PIL import Image

from saccade.readers.charts.chart import ChartReader
from saccade.readers.charts.descriptions import analysis_of, caption_of, colours_of, scene_graph_of
from saccade.readers.charts.questions import answer
from saccade.readers.charts.svg import svg_of
from saccade.readers.charts.table import csv_of, data_of, markdown_of
from saccade.tools.tool import Tool, ToolOutput, tool_from

DEADLINE_S = 60.0


def chart_tools(reader: ChartReader, deadline_s: float = DEADLINE_S) -> tuple[Tool, ...]:
    """The seven chart tools over one reader; each raises ``ToolError`` as the reader does when it cannot read."""

    def chart_to_table(
        image: Image.Image, layout: Annotated[Literal["markdown", "csv"], "how the table is written"] = "markdown"
    ) -> ToolOutput:
        """Read the values of a chart into a table: a row per category, a column per series."""
        chart = reader.read(image)
        table = markdown_of(chart) if layout == "markdown" else csv_of(chart)
        title = f"{chart.name} chart" + (f": {chart.title}" if chart.title else "")
        return ToolOutput(text=f"{title}\n{table}", data=data_of(chart))

    def chart_to_svg(image: Image.Image) -> ToolOutput:
        """Draw a chart anew as SVG from the values that can be read in it."""
        chart = reader.read(image)
        return ToolOutput(text=svg_of(chart), data=data_of(chart))

    def chart_to_scene_graph(image: Image.Image) -> ToolOutput:
        """Take a chart apart into objects (series, categories, marks with boxes and values) and their relations."""
        graph = scene_graph_of(reader.read(image))
        return ToolOutput(text=json.dumps(graph, ensure_ascii=False), data=graph)

    def chart_caption(image: Image.Image) -> ToolOutput:
        """Describe a chart in a few sentences: its kind, what it shows, where it is highest and lowest."""
        chart = reader.read(image)
        return ToolOutput(text=caption_of(chart), data={"kind": chart.name, "title": chart.title})

    def chart_colors(image: Image.Image) -> ToolOutput:
        """List the series of a chart, or the slices of a pie, with their colours."""
        rows = colours_of(reader.read(image))
        text = "\n".join(f"{row['name']}: {row['colour_name']} ({row['colour']})" for row in rows)
        return ToolOutput(text=text, data={"colors": rows})

    def analyze_chart(image: Image.Image) -> ToolOutput:
        """Sum up a chart's numbers: highest, lowest, total, mean, trend and differences of each series."""
        text, data = analysis_of(reader.read(image))
        return ToolOutput(text=text, data=data)

    def answer_chart(
        image: Image.Image,
        question: Annotated[str, "such as: difference between tea and milk; count above 50; highest in 2020"],
    ) -> ToolOutput:
        """Answer a question on a chart's values: value, difference, ratio, sum, average, highest, lowest, count."""
        found = answer(reader.read(image), question)
        steps = "\n".join(found.steps)
        data = {"answer": found.answer, "value": found.value, "steps": list(found.steps)}
        return ToolOutput(text=f"{steps}\nanswer: {found.answer}", data=data)

    functions = (
        chart_to_table,
        chart_to_svg,
        chart_to_scene_graph,
        chart_caption,
        chart_colors,
        analyze_chart,
        answer_chart,
    )
    return tuple(tool_from(function, deadline_s) for function in functions)
