"""The classical reader: every kind of chart with its values, and pictures that it must refuse and say why."""

import numpy as np
import pytest
from PIL import Image

from saccade.errors import ToolError
from saccade.gym.drawn.chart_bars import draw_chart_bars
from saccade.gym.drawn.chart_lines import draw_chart_lines
from saccade.gym.drawn.chart_pie import draw_chart_pie
from saccade.media.store import MediaStore
from saccade.quantities import parse_quantity
from saccade.readers.charts.calibration import number_of, value_scale
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.classical import ClassicalReader
from saccade.readers.charts.questions import answer
from saccade.readers.text.rapid import RapidReader
from saccade.seeding import generator_for
from saccade.tasks.drawing import font
from saccade.tasks.scene import FamilyFunction, SceneQuestion
from saccade.testing.drawn_charts import draw_chart
from saccade.testing.tool_check import check_tool
from saccade.tools.chart_tools import chart_tools

pytest.importorskip("matplotlib")

READER = ClassicalReader(RapidReader())


@pytest.mark.parametrize("kind", ["bars", "grouped", "stacked", "horizontal", "lines"])
def test_a_drawn_chart_is_read_with_all_its_values(kind: str):
    drawn = draw_chart(kind, generator_for(35, kind))
    read = READER.read(drawn.image)
    assert read.name == drawn.chart.name
    for name, values in columns(drawn.chart).items():
        assert columns(read)[name] == pytest.approx(values, rel=0.05)


def columns(chart: Chart) -> dict[tuple[str, str], float | None]:
    """Values by series, where there are several, and category."""
    is_of_many = len(chart.series) > 1
    return {
        (series.name if is_of_many else "", category): value
        for series in chart.series
        for category, value in zip(chart.categories, series.values, strict=True)
    }


def test_a_drawn_pie_is_read_by_names():
    drawn = draw_chart("pies", generator_for(31, "pies"))
    assert columns(READER.read(drawn.image)) == pytest.approx(columns(drawn.chart), rel=0.05)


def test_the_points_of_a_scatter_chart_are_read():
    drawn = draw_chart("scatter", generator_for(31, "scatter"))
    read = READER.read(drawn.image)
    assert read.kind == "scatter"
    for true, found in zip(drawn.chart.series, read.series, strict=True):
        order, own = np.argsort(true.xs), np.argsort(found.xs)
        reach = 0.02 * max(true.xs)
        assert np.array(found.xs)[own] == pytest.approx(np.array(true.xs)[order], abs=reach)


@pytest.mark.parametrize("family", [draw_chart_bars, draw_chart_lines, draw_chart_pie])
def test_questions_of_the_chart_families_are_answered_from_pixels_alone(family: FamilyFunction):
    for index in range(4):
        scene = family(generator_for(32, family.__name__, index), 0.5)
        found = answer(READER.read(scene.images[0]), scene.asked.question).answer
        assert agrees(found, scene.asked), f"{scene.asked.question}: {found}, not {scene.asked.answer}"


def agrees(found: str, asked: SceneQuestion) -> bool:
    if asked.answer_kind == "exact":
        return found == asked.answer
    quantity = parse_quantity(found)
    return quantity is not None and quantity.value == pytest.approx(float(asked.answer), rel=0.05)


def test_the_boxes_of_bars_are_in_pixels_of_the_image():
    scene = draw_chart_bars(generator_for(33, "boxes"), 0.0)
    (series,) = READER.read(scene.images[0]).series
    tops = [box.y1 for box in series.boxes if box is not None]
    values = [value for value in series.values if value is not None]
    assert tops == pytest.approx([220 - 2 * value for value in values], abs=1.5)


@pytest.mark.slow
def test_an_enlarged_chart_has_the_same_values_and_larger_boxes():
    image = draw_chart("bars", generator_for(35, "bars")).image
    small, large = READER.read(image), READER.read(image.resize((3 * image.width, 3 * image.height)))
    assert large.series[0].values == pytest.approx(small.series[0].values, rel=0.05)
    assert large.series[0].boxes[0].x1 == pytest.approx(3 * small.series[0].boxes[0].x1, abs=9)


def text_page() -> Image.Image:
    from PIL import ImageDraw

    image = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(image).text((20, 40), "12 apples\nand 7 pears", fill="black", font=font(20))
    return image


def noise() -> Image.Image:
    return Image.fromarray(generator_for(1, "noise").integers(0, 256, (200, 260, 3), dtype=np.uint8))


def coloured_squares() -> Image.Image:
    image = Image.new("RGB", (300, 200), "white")
    image.paste((200, 30, 30), (40, 40, 120, 160))
    image.paste((30, 30, 200), (160, 90, 240, 160))
    return image


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (Image.new("RGB", (40, 40)), "smaller than"),
        (Image.new("RGB", (200, 200), "white"), "no chart found"),
        (Image.new("RGB", (200, 200), "red"), "no chart found|no axis found"),
        (text_page(), "no chart found|no axis found"),
        (noise(), "no chart found|no axis found"),
        (coloured_squares(), "no axis found"),
    ],
)
def test_a_picture_without_a_chart_is_refused_with_the_step_that_failed(image: Image.Image, why: str):
    with pytest.raises(ToolError, match=why):
        READER.read(image)


@pytest.mark.parametrize("index", range(6))
def test_a_spoilt_chart_is_read_or_refused_but_breaks_nothing(index: int):
    rng = generator_for(34, "spoilt", index)
    image = draw_chart(("bars", "lines", "scatter")[index % 3], rng).image.resize((320, 240))
    pixels = np.array(image)
    y, x = (int(number) for number in rng.integers(0, 160, 2))
    pixels[y : y + 80, x : x + 160] = rng.integers(0, 256, (80, 160, 3), dtype=np.uint8)[: pixels[y : y + 80].shape[0]]
    try:
        chart = READER.read(Image.fromarray(pixels))
    except ToolError:
        return
    assert all(value is None or np.isfinite(value) for series in chart.series for value in series.values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,000", 1000.0),
        ("-5", -5.0),
        ("20 -", 20.0),
        ("O", 0.0),
        ("0.5", 0.5),
        ("40%", 40.0),
        ("tea", None),
        ("-", None),
    ],
)
def test_tick_labels_are_numbers_with_common_misreadings_put_right(text: str, value: float | None):
    assert number_of(text) == value


def test_one_misread_label_does_not_move_an_axis():
    image = draw_chart_bars(generator_for(33, "boxes"), 0.0).images[0]
    lines = RapidReader().read(image)
    wrong = tuple(
        type(line)(text="90" if line.text == "40" else line.text, box=line.box, confidence=1.0) for line in lines
    )
    pixels = np.asarray(image)
    right, moved = value_scale(lines, pixels, "up"), value_scale(wrong, pixels, "up")
    assert right is not None
    assert moved is not None
    assert moved.factor == pytest.approx(right.factor, rel=0.02)
    assert moved.agreement < right.agreement == 1.0


def test_the_chart_tools_over_the_classical_reader_keep_the_contract():
    table = chart_tools(READER)[0]
    check_tool(table, [{}], image=draw_chart_bars(generator_for(33, "boxes"), 0.0).images[0])


def test_a_tool_tells_the_model_why_a_chart_could_not_be_read():
    media = MediaStore()
    with pytest.raises(ToolError, match="no axis found"):
        chart_tools(READER)[0].call({}, (media.add(coloured_squares()),), media)
