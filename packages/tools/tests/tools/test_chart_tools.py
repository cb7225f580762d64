"""The chart tools over a reader: texts, data, drawings; what the reader refuses is refused by every tool."""

import csv
import io
import json
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.descriptions import caption_of, scene_graph_of
from saccade.readers.charts.svg import svg_of
from saccade.testing.tool_check import check_tool
from saccade.tools.chart_tools import chart_tools
from saccade.types import ToolResult

BARS = Chart(
    kind="bar",
    title="Goods <sold> & kept",
    arrangement="grouped",
    categories=("tea", "milk"),
    series=(
        Series(name="2020", values=(10.0, 40.0), colour=(214, 39, 40)),
        Series(name="2021", values=(20.0, None), colour=(31, 90, 200)),
    ),
)
PIE = Chart(
    kind="pie",
    categories=("a", "b"),
    series=(Series(name="share", values=(75.0, 25.0), colours=((214, 39, 40), (44, 160, 44))),),
)
LINE = Chart(kind="line", categories=("Mon", "Tue"), series=(Series(name="red", values=(1.0, 2.0)),))
SCATTER = Chart(kind="scatter", series=(Series(name="blue", values=(1.0, 3.0), xs=(5.0, 6.0), colour=(31, 90, 200)),))
LYING = Chart(kind="bar", is_horizontal=True, categories=("x", "y"), series=(Series(name="v", values=(-1.0, 3.0)),))
STACKED = Chart(
    kind="bar",
    arrangement="stacked",
    categories=("x",),
    series=(Series(name="v", values=(1.0,)), Series(name="w", values=(2.0,))),
)
CHARTS = (BARS, PIE, LINE, SCATTER, LYING, STACKED)


class Known:
    """A reader of one known chart."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart

    def read(self, image: Image.Image) -> Chart:
        return self._chart


class Blind:
    """A reader that can read nothing."""

    def read(self, image: Image.Image) -> Chart:
        raise ToolError("no axis found")


def called(chart: Chart, name: str, **arguments: str) -> ToolResult:
    media = MediaStore()
    tool = next(tool for tool in chart_tools(Known(chart)) if tool.name == name)
    return tool.call(arguments, (media.add(Image.new("RGB", (64, 64))),), media)


def test_the_table_has_a_row_for_each_category():
    result = called(BARS, "chart_to_table")
    lines = ["| | 2020 | 2021 |", "| --- | --- | --- |", "| tea | 10 | 20 |", "| milk | 40 | |"]
    assert [" ".join(line.split()) for line in result.text.split("\n")[1:]] == lines
    assert result.data["series"][0] == {"name": "2020", "values": [10.0, 40.0]}


def test_the_table_as_csv_is_read_back():
    text = called(BARS, "chart_to_table", layout="csv").text.partition("\n")[2]
    assert list(csv.reader(io.StringIO(text))) == [["", "2020", "2021"], ["tea", "10", "20"], ["milk", "40", ""]]


def test_the_table_of_a_scatter_chart_has_a_row_for_each_point():
    assert "| blue | 6 | 3 |" in called(SCATTER, "chart_to_table").text


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_the_svg_is_xml_and_holds_each_value_once(chart: Chart):
    root = Xml.fromstring(svg_of(chart))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = sorted(float(mark.attrib["data-value"]) for mark in root.iter() if "data-value" in mark.attrib)
    assert drawn == sorted(value for series in chart.series for value in series.values if value is not None)


def test_bars_of_the_svg_are_as_high_as_their_values():
    marks = [mark for mark in Xml.fromstring(svg_of(BARS)).iter() if "data-value" in mark.attrib]
    heights = {float(mark.attrib["data-value"]): float(mark.attrib["height"]) for mark in marks}
    assert heights[40.0] == pytest.approx(4 * heights[10.0], abs=0.05)
    assert marks[0].attrib["fill"] == "#d62728"


def test_control_characters_in_names_leave_the_svg_valid():
    chart = Chart(kind="bar", categories=("a\x00\x1b",), series=(Series(name="s\x07", values=(1.0,)),))
    assert "a" in [text.text for text in Xml.fromstring(svg_of(chart)).iter() if text.text]


def test_the_scene_graph_relates_marks_to_series_and_categories():
    graph = scene_graph_of(BARS)
    relations = {(row["subject"], row["relation"], row["object"]) for row in graph["relations"]}
    assert ("mark_0_1", "belongs_to", "series_0") in relations
    assert ("mark_0_1", "stands_for", "category_1") in relations
    assert ("mark_0_1", "greater_than", "mark_0_0") in relations
    assert ("category_0", "next_to", "category_1") in relations
    assert "mark_1_1" not in {row["id"] for row in graph["objects"]}
    assert json.loads(called(BARS, "chart_to_scene_graph").text) == json.loads(json.dumps(graph))


def test_the_caption_names_kind_extremes_and_title():
    text = caption_of(BARS)
    assert text.startswith('A grouped bar chart titled "Goods <sold> & kept" over 2 categories (tea, milk)')
    assert "highest value is 40 (milk in 2020), the lowest 10 (tea in 2020)" in text


def test_colours_are_told_by_series_or_by_slice():
    assert called(BARS, "chart_colors").text == "2020: red (#d62728)\n2021: blue (#1f5ac8)"
    assert [row["name"] for row in called(PIE, "chart_colors").data["colors"]] == ["a", "b"]


def test_colours_that_nobody_read_are_not_made_up():
    with pytest.raises(ToolError, match="not known"):
        called(LYING, "chart_colors")


def test_the_analysis_sums_up_each_series():
    result = called(BARS, "analyze_chart")
    assert "2020: 2 values, highest milk = 40, lowest tea = 10, total 50, mean 25" in result.text
    assert result.data["series"][0]["differences"] == [30.0]
    assert "5 to 6" in called(SCATTER, "analyze_chart").text


def test_an_answer_comes_with_its_steps():
    result = called(BARS, "answer_chart", question="difference between tea and milk in 2020")
    assert result.text.endswith("answer: 30")
    assert result.data["value"] == 30.0


@pytest.mark.parametrize("tool", chart_tools(Blind()), ids=lambda tool: tool.name)
def test_what_the_reader_cannot_read_no_tool_makes_up(tool):
    media = MediaStore()
    arguments = {"question": "sum"} if tool.name == "answer_chart" else {}
    with pytest.raises(ToolError, match="no axis found"):
        tool.call(arguments, (media.add(Image.new("RGB", (64, 64))),), media)


@pytest.mark.parametrize("tool", chart_tools(Known(BARS)), ids=lambda tool: tool.name)
def test_the_chart_tools_keep_the_contract_of_tools(tool):
    check_tool(tool, [{"question": "sum in 2020"} if tool.name == "answer_chart" else {}])
