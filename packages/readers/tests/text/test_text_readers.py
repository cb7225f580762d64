"""Reading text: what is found where, once per process, the same in every thread; engines that are missing say so."""

import threading

import pytest
from PIL import Image, ImageDraw

from saccade.errors import ToolError, UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.readers.text.lines import TextLine, in_reading_order, rows_of
from saccade.readers.text.optional import EasyReader, TesseractReader
from saccade.readers.text.rapid import RapidReader
from saccade.tasks.drawing import font
from saccade.testing.tool_check import check_tool
from saccade.tools.ocr_tools import reading_tools

READ_TEXT, READ_REGION = reading_tools(RapidReader())


def page(*texts: tuple[str, int, int], size: tuple[int, int] = (400, 160)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    for words, x, y in texts:
        ImageDraw.Draw(image).text((x, y), words, fill="black", font=font(18))
    return image


TABLE = page(("item", 20, 20), ("price", 200, 20), ("tea", 20, 70), ("42", 200, 70), ("milk", 20, 120), ("7", 200, 120))


def line(text: str, x: float, y: float) -> TextLine:
    return TextLine(text=text, box=Box(x, y, x + 20, y + 10), confidence=1.0)


def test_lines_are_found_where_they_are_drawn():
    (found,) = RapidReader().read(page(("Hello world", 60, 50)))
    assert found.text == "Hello world"
    assert found.confidence > 0.9
    assert abs(found.box.x1 - 60) < 8
    assert 45 < found.box.center.y < 75


def test_boxes_of_a_large_picture_are_in_its_own_pixels():
    large = page(("Hello", 60, 50)).resize((3200, 1280))
    (found,) = RapidReader().read(large)
    assert abs(found.box.x1 - 8 * 60) < 64


def test_a_blank_picture_has_no_lines():
    assert RapidReader().read(Image.new("RGB", (100, 100), "white")) == ()


def test_neighbours_with_a_wide_gap_are_two_lines():
    assert [found.text for found in RapidReader().read(page(("tea", 60, 50), ("milk", 120, 50)))] == ["tea", "milk"]


def test_all_threads_read_the_same():
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(RapidReader().read(TABLE))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(lines == found[0] for lines in found)


def test_read_text_gives_lines_with_boxes():
    media = MediaStore()
    result = READ_TEXT.call({}, (media.add(TABLE),), media)
    assert result.text.split("\n") == ["item", "price", "tea", "42", "milk", "7"]
    assert [row["text"] for row in result.data["lines"]] == ["item", "price", "tea", "42", "milk", "7"]


def test_rows_put_the_cells_of_a_table_on_one_line():
    media = MediaStore()
    result = READ_TEXT.call({"layout": "rows"}, (media.add(TABLE),), media)
    assert result.text == "item | price\ntea | 42\nmilk | 7"


def test_a_region_is_read_alone_and_told_in_pixels_of_the_whole():
    media = MediaStore()
    result = READ_REGION.call({"bbox_2d": [180, 55, 300, 105]}, (media.add(TABLE),), media)
    assert result.text == "42"
    (row,) = result.data["lines"]
    assert 190 < row["box"][0] < 205


@pytest.mark.parametrize("box", [[50, 50, 50, 90], [90, 50, 50, 90], [0, 0, 3, 3], [900, 900, 950, 950]])
def test_a_region_of_nothing_is_refused(box: list[int]):
    media = MediaStore()
    with pytest.raises(ToolError, match="bbox_2d"):
        READ_REGION.call({"bbox_2d": box}, (media.add(TABLE),), media)


def test_a_picture_without_text_says_so():
    media = MediaStore()
    result = READ_TEXT.call({}, (media.add(Image.new("RGB", (64, 64), "grey")),), media)
    assert result.text == "no text found"


def test_read_text_keeps_the_contract_of_tools():
    check_tool(READ_TEXT, [{}], image=page(("tea", 20, 20), size=(96, 64)))


def test_lines_are_ordered_by_rows_then_from_left_to_right():
    shuffled = [line("d", 50, 42), line("b", 50, 3), line("c", 0, 40), line("a", 0, 0)]
    assert [found.text for found in in_reading_order(shuffled)] == ["a", "b", "c", "d"]
    assert [len(row) for row in rows_of(shuffled)] == [2, 2]


@pytest.mark.parametrize(("engine", "how"), [(TesseractReader, "tesseract"), (EasyReader, "easyocr")])
def test_an_engine_that_is_not_installed_says_how_to_install_it(engine: type, how: str):
    try:
        __import__({"tesseract": "pytesseract", "easyocr": "easyocr"}[how])
    except ImportError:
        with pytest.raises(UserError, match=f"{how}.*install"):
            engine()
    else:
        pytest.skip(f"{how} is installed here")


FORM = (("Invoice No. 20417", 20), ("31/12/2025", 60), ("Subtotal $1,204.50", 100))


def form(turn: float, *, words: tuple[tuple[str, int], ...] = FORM) -> Image.Image:
    image = page(*((text, 30, y) for text, y in words), size=(280, 140))
    return image.rotate(-turn, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)


@pytest.mark.parametrize("turn", [0, 3, -3, 10, 45, -60, 90, 180, 190, 270])
def test_a_page_is_read_whichever_way_it_is_turned(turn: float):
    assert [found.text for found in RapidReader().read(form(turn))] == [text for text, _ in FORM]


@pytest.mark.parametrize("turn", [3, 10])
def test_a_long_line_on_a_slanted_page_keeps_its_ends(turn: float):
    words = "31/12/2025 the storm took seven of the boats, and the quay was shut"
    image = page((words, 30, 60), size=(640, 140))
    slanted = image.rotate(-turn, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    assert " ".join(found.text for found in RapidReader().read(slanted)) == words


def test_a_slanted_line_tells_its_corners_in_the_order_of_its_writing():
    media = MediaStore()
    result = READ_TEXT.call({}, (media.add(form(180)),), media)
    begins, ends, *_ = result.data["lines"][0]["corners"]
    assert begins[0] > ends[0] + 100
    assert abs(begins[1] - ends[1]) < 4
    upright = READ_TEXT.call({}, (media.add(form(0)),), media)
    assert all("corners" not in row for row in upright.data["lines"])


def test_columns_of_prose_are_read_one_after_another():
    left = ("The harbour master", "keeps a ledger of", "all boats that lie", "at the old quay.")
    right = ("Each line holds a", "name and a berth,", "and the day when it", "was last seen here.")
    texts = [("Notes from the harbour, winter", 20, 10)]
    texts += [(words, x, 60 + 30 * row) for x, column in ((20, left), (240, right)) for row, words in enumerate(column)]
    image = page(*texts, size=(440, 200))
    assert [found.text for found in RapidReader().read(image)] == ["Notes from the harbour, winter", *left, *right]
    slanted = image.rotate(-8, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    assert " ".join(found.text for found in RapidReader().read(slanted)).endswith(" ".join([*left, *right]))
    media = MediaStore()
    by_rows = READ_TEXT.call({"layout": "rows"}, (media.add(image),), media).text
    assert by_rows.split("\n")[1] == f"{left[0]} | {right[0]}"


def test_columns_of_short_cells_are_read_by_rows():
    cells = [(f"{column}{row}", 100 * column, 20 * row) for column in range(3) for row in range(5)]
    assert [found.text for found in in_reading_order([line(*cell) for cell in cells])] == [
        f"{column}{row}" for row in range(5) for column in range(3)
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("Wooden chair, oak", "$120"), ("Lamp with a shade", "$45.50"), ("Hose, 20 metres", "$19"), ("Paint", "$38")],
        [("Who may enter the pier?", "Visitors with a ticket"), ("When is it open?", "From 8:30 to 19:00 daily"),
         ("Are dogs welcome?", "Yes, when on a lead"), ("Where are tickets?", "They are sold at gate B")],
    ],
)  # fmt: skip
def test_a_table_of_long_cells_is_read_by_rows(rows: list[tuple[str, str]]):
    cells = [
        TextLine(text=text, box=Box(x, 30 * row, x + 8 * len(text), 30 * row + 16), confidence=1.0)
        for row, texts in enumerate(rows)
        for x, text in zip((20, 320), texts, strict=True)
    ]
    assert [found.text for found in in_reading_order(cells[::-1])] == [text for texts in rows for text in texts]


def test_a_label_at_the_axis_does_not_turn_the_page():
    image = page(("Sales of tea", 120, 10), ("10", 60, 50), ("5", 60, 90), ("0", 60, 130), size=(300, 160))
    label = page(("tons each year", 5, 2), size=(150, 26)).rotate(90, expand=True)
    image.paste(label, (10, 5))
    found = [line.text for line in RapidReader().read(image)]
    assert set(found) == {"Sales of tea", "tons each year", "10", "5", "0"}
    assert found.index("10") < found.index("5") < found.index("0")
