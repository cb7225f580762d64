"""Charts drawn by other programs: every value under its names, and doubts where something is not understood."""

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.readers.charts.areas import are_areas
from saccade.readers.charts.axes import labelled_scale
from saccade.readers.charts.calibration import Scale, Tick, number_of, value_scale
from saccade.readers.charts.chart import SURE, Chart, Series
from saccade.readers.charts.classical import ClassicalReader
from saccade.readers.charts.colours import palette_of, without_frame
from saccade.readers.charts.doubts import boxes_in_doubt, names_in_doubt, shares_in_doubt, steps_in_doubt, with_doubts
from saccade.readers.charts.layout import names_below
from saccade.readers.charts.legend import Legend, find_legend
from saccade.readers.charts.lines import without_doubles
from saccade.readers.charts.marks import layer_of
from saccade.readers.charts.pies import exploded_slices
from saccade.readers.text.lines import TextLine
from saccade.readers.text.rapid import RapidReader

FOLDER = Path(__file__).parent / "foreign"
READER = ClassicalReader(RapidReader())
UNDERSTOOD = (
    "echarts_stacked",
    "ggplot_lines",
    "gnuplot_clustered",
    "mpl_cut_axis",
    "mpl_exploded",
    "mpl_slanted",
    "mpl_slanted_lines",
    "pygal_lines",
    "pygal_lying",
    "pygal_pie",
    "vega_dark",
    "vega_histogram",
    "vega_labelled",
    "vega_log",
    "vega_stacked_area",
)


def read(name: str) -> Chart:
    return READER.read(Image.open(FOLDER / f"{name}.png").convert("RGB"))


def values_of(chart: Chart) -> dict[str, dict[str, float | None]]:
    is_of_many = len(chart.series) > 1
    return {
        series.name if is_of_many else "": dict(zip(chart.categories, series.values, strict=True))
        for series in chart.series
    }


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_a_foreign_chart_is_read_with_its_names_and_values(name: str):
    truth = json.loads((FOLDER / f"{name}.json").read_text())["values"]
    chart = read(name)
    found = values_of(chart)
    assert {key: set(row) for key, row in found.items()} == {key: set(row) for key, row in truth.items()}
    for series, row in truth.items():
        assert found[series] == pytest.approx(row, rel=0.05)
    assert chart.is_sure
    assert chart.doubts == ()


def test_bars_below_numbers_on_top_are_read_and_the_moved_last_number_is_doubted():
    truth = json.loads((FOLDER / "vega_axis_on_top.json").read_text())["values"][""]
    chart = read("vega_axis_on_top")
    assert values_of(chart)[""] == pytest.approx(truth, rel=0.05)
    assert chart.doubts == ("a number of the axis was not understood",)


@pytest.mark.parametrize(("unit", "values"), [("t", [0.0, 20.0, 40.0, 60.0]), ("bn", None)])
def test_a_unit_that_the_numbers_of_an_axis_share_is_no_part_of_them(unit: str, values: list[float] | None):
    lines = tuple(line(f"{20 * index} {unit}", 10, 200 - 40 * index) for index in range(4))
    scale = value_scale(lines, np.full((300, 300, 3), 255, dtype=np.uint8), "up")
    assert (None if scale is None else [tick.value for tick in scale.ticks]) == values


def test_a_second_axis_is_doubted_and_its_line_read_on_it():
    truth = json.loads((FOLDER / "plotly_two_axes.json").read_text())["values"]
    chart = read("plotly_two_axes")
    for series, row in values_of(chart).items():
        assert row == pytest.approx(truth[series], rel=0.05)
    assert not chart.is_sure
    assert any("two vertical axes" in doubt for doubt in chart.doubts)


@pytest.mark.parametrize("name", ["bokeh_crosses", "gnuplot_crosses", "vega_points"])
def test_crosses_and_rings_are_points_once_each(name: str):
    truth = json.loads((FOLDER / f"{name}.json").read_text())["points"]
    chart = read(name)
    assert chart.kind == "scatter"
    assert sum(len(series.values) for series in chart.series) == sum(map(len, truth.values()))


def test_numbers_of_an_axis_that_were_not_understood_are_a_doubt():
    chart = read("pyplot_xkcd")
    assert chart.doubts == ("a number of the axis was not understood",)
    assert not chart.is_sure


def line(text: str, x: float, y: float, confidence: float = 1.0) -> TextLine:
    return TextLine(text=text, box=Box(x, y, x + 30, y + 16), confidence=confidence)


def test_an_axis_of_powers_is_logarithmic():
    white = np.full((220, 100, 3), 255, dtype=np.uint8)
    for row in (10, 70, 130, 190):
        white[row + 3 : row + 13, 4:28] = 0
    lines = tuple(line(text, 2, row) for text, row in (("1,000", 10), ("100", 70), ("10", 130), ("1", 190)))
    scale = value_scale(lines, white, "up")
    assert scale is not None
    assert scale.is_log
    assert scale.value(scale.px(31.6)) == pytest.approx(31.6)
    assert scale.zero_px is None


def test_a_raised_exponent_and_its_factor_are_a_number():
    assert number_of("10⁴") == 10_000
    assert number_of("3×10⁻²") == pytest.approx(0.03)


def test_the_title_below_an_axis_is_no_name_of_it():
    names = [line("Jan", 100, 380), line("Feb", 200, 381), line("Mar", 300, 379)]
    title = line("category", 190, 393)
    assert names_below((*names, title), 370, 90, 340) == names


def test_two_blocks_of_like_colours_are_two():
    picture = np.full((80, 160, 3), 255, dtype=np.uint8)
    picture[20:60, 20:70] = (247, 123, 114)
    picture[20:60, 90:140] = (255, 137, 100)
    assert palette_of(picture).colours == ((247, 123, 114), (255, 137, 100))


def test_a_name_among_those_of_a_legend_without_a_colour_of_its_own_is_a_doubt():
    picture = np.full((120, 200, 3), 255, dtype=np.uint8)
    for top, colour in ((10, (214, 39, 40)), (34, (31, 119, 180)), (58, (214, 39, 40))):
        picture[top : top + 12, 10:22] = colour
    names = tuple(line(text, 28, top) for text, top in (("Apples", 8), ("Bread", 32), ("Coffee", 56)))
    legend = find_legend(names, picture, palette_of(picture))
    assert {name for _, name in legend.names} | {stray.text for stray in legend.strays} == {"Apples", "Bread", "Coffee"}
    assert len(legend.names) == 2
    assert "a name in the legend has no colour of its own" in names_in_doubt(BARS, legend, ())


def test_names_that_go_on_below_are_a_doubt():
    first = (line("a", 40, 200), line("b", 100, 200), line("c", 160, 200))
    assert names_in_doubt(BARS, Legend(), (*first, line("Goods", 100, 218))) == []
    assert names_in_doubt(BARS, Legend(), (*first, line("trains", 40, 218), line("cars", 160, 218))) != []


def test_a_name_that_was_cut_is_a_doubt():
    cut = replace(BARS, categories=("a", "Public tran…", "c"))
    assert names_in_doubt(cut, Legend(), (line("Public tran…", 100, 200),)) == [
        "the name of a category is hard to read"
    ]


def test_printed_percentages_that_are_not_the_slices_are_a_doubt():
    pie = Chart(kind="pie", categories=("a", "b"), series=(Series(name="share", values=(60.0, 40.0)),))
    assert shares_in_doubt(pie, (line("40%", 0, 0), line("60%", 0, 30))) == []
    assert shares_in_doubt(pie, (line("30%", 0, 0), line("70%", 0, 30))) != []


def test_names_at_uneven_steps_are_a_doubt():
    assert steps_in_doubt([10.0, 60.0, 111.0, 160.0]) == []
    assert steps_in_doubt([10.0, 60.0, 84.0, 111.0, 160.0]) != []


def bars(*tops: int) -> np.ndarray:
    picture = np.zeros((200, 60 * len(tops) + 40), dtype=bool)
    for number, top in enumerate(tops):
        picture[top:180, 40 + 60 * number : 70 + 60 * number] = True
    return picture


def test_printed_values_are_the_axis_of_bars_that_have_none():
    layer = layer_of(bars(80, 130, 160), (31, 90, 200))
    labels = (line("50", 40, 62), line("25", 100, 112), line("10", 160, 142))
    scale = labelled_scale((layer,), labels)
    assert scale is not None
    assert scale.value(80) == pytest.approx(50)
    assert labelled_scale((layer,), (*labels[:1], line("40", 100, 112), line("10", 160, 142))) is None


def test_bars_are_no_slices():
    picture = np.full((200, 280, 3), 255, dtype=np.uint8)
    picture[bars(40, 100, 120, 90)] = (106, 90, 205)
    assert exploded_slices(picture, palette_of(picture), ()) is None


def test_the_frame_of_a_chart_is_no_part_of_its_black_bars():
    framed = bars(80, 130, 160)
    framed[180, :] = framed[10, :] = framed[10:180, 5] = True
    assert (without_frame(framed)[:180] == bars(80, 130, 160)[:180]).all()
    assert not without_frame(framed)[180, :39].any()


def test_a_line_and_its_markers_of_another_colour_are_one():
    strokes = np.zeros((200, 300), dtype=np.uint8)
    dots = strokes.copy()
    points = [(40, 60), (120, 150), (200, 90), (280, 120)]
    cv2.polylines(strokes, [np.array(points, dtype=np.int32)], isClosed=False, color=1, thickness=2)
    for point in points:
        cv2.circle(dots, point, 4, 1, -1)
    named, other = layer_of(dots > 0, (237, 85, 101)), layer_of(strokes > 0, (150, 60, 70))
    (both,) = without_doubles((named, other), [float(x) for x, _ in points], {named.colour})
    assert (both.coverage == ((dots | strokes) > 0)).all()


def test_bars_are_no_area():
    layer = layer_of(bars(80, 130, 160), (31, 90, 200))
    assert not are_areas((layer,), 200)


BARS = Chart(
    kind="bar",
    categories=("a", "b", "c"),
    series=(
        Series(
            name="value",
            values=(50.0, 25.0, 10.0),
            colour=(31, 90, 200),
            boxes=(Box(40, 80, 70, 180), Box(100, 130, 130, 180), Box(160, 160, 190, 180)),
        ),
    ),
)


def test_ink_that_no_mark_explains_is_a_doubt():
    layer = layer_of(bars(80, 130, 160), (31, 90, 200))
    assert boxes_in_doubt(BARS, (layer,)) == []
    picture = Image.fromarray(bars(80, 130, 160))
    ImageDraw.Draw(picture).line([(10, 60), (210, 20)], fill=1, width=4)
    more = layer_of(np.asarray(picture), (31, 90, 200))
    assert boxes_in_doubt(BARS, (more,)) == ["something is drawn in colour that is in none of the marks"]


def test_names_that_are_missing_or_hard_to_read_are_doubts():
    assert names_in_doubt(BARS, Legend(), ()) == []
    assert names_in_doubt(replace(BARS, categories=("a", "b", "category 3")), Legend(), ()) != []
    assert names_in_doubt(BARS, Legend(), (line("b", 0, 0, 0.6),)) != []
    two = replace(BARS, series=(BARS.series[0], replace(BARS.series[0], name="other", colour=(214, 39, 40))))
    assert names_in_doubt(two, Legend(names=(((31, 90, 200), "value"),)), ()) != []
    assert names_in_doubt(two, Legend(), ()) == []
    assert names_in_doubt(two, Legend(), (line("Import", 0, 0), line("Export", 0, 30))) != []


def test_a_chart_with_a_doubt_is_not_sure():
    assert with_doubts(BARS, []).is_sure
    chart = with_doubts(BARS, ["two axes"])
    assert (chart.confidence < SURE, chart.doubts) == (True, ("two axes",))
    assert with_doubts(replace(BARS, confidence=0.7), []).doubts != ()


def test_a_scale_moves_with_its_zero():
    scale = Scale(factor=-0.5, offset=90, ticks=(Tick(value=0, at_px=180, box=Box(0, 172, 10, 188)),), agreement=1.0)
    assert scale.moved(4).zero_px == pytest.approx(184)
