"""SVG as the looks draw it: shapes where they should be, styles as sheets say, regions of what is seen."""

from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.gym.looks.svg import DrawnSvg, draw_svg
from saccade.gym.looks.svg_letters import lettering
from saccade.gym.looks.svg_paths import path_outline
from saccade.gym.looks.svg_styles import StyledPart, style_sheet

pytest.importorskip("matplotlib")


def svg(inside: str, names: dict[str, str] | None = None, *, view: str = "0 0 40 30") -> DrawnSvg:
    root = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" viewBox="{view}">{inside}</svg>'
    return draw_svg(ElementTree.fromstring(root), names or {})


def box_of(picture: DrawnSvg, element: str) -> tuple[float, ...]:
    (region,) = (one for one in picture.regions if one.element == element)
    return region.box.as_tuple()


def inked(image: Image.Image) -> tuple[int, ...] | None:
    """The box of all that is darker than half."""
    return Image.fromarray((np.asarray(image.convert("L")) < 128).astype(np.uint8) * 255).getbbox()


def test_a_region_is_what_is_seen_of_an_element() -> None:
    below = '<rect id="a" x="5" y="5" width="10" height="8" fill="red"/>'
    above = '<rect id="b" x="9" y="2" width="20" height="20" fill="blue"/>'
    picture = svg(below + above, {"a": "under", "b": "over"})
    assert box_of(picture, "under") == (5, 5, 9, 13)
    assert box_of(picture, "over") == (9, 2, 29, 22)
    assert picture.image.getpixel((6, 6)) == (255, 0, 0)
    assert picture.image.getpixel((10, 6)) == (0, 0, 255)
    assert picture.image.getpixel((35, 25)) == (255, 255, 255)


def test_what_is_not_painted_hides_nothing_and_has_no_region() -> None:
    seen = '<rect id="a" x="5" y="5" width="10" height="8" fill="red"/>'
    for unseen in ('fill="none"', 'fill="red" opacity="0"', 'fill="red" visibility="hidden"', 'display="none"'):
        picture = svg(seen + f'<g {unseen}><rect id="b" x="0" y="0" width="40" height="30"/></g>', {"a": "a", "b": "b"})
        assert [one.element for one in picture.regions] == ["a"], unseen


def test_view_boxes_and_transforms_move_and_scale() -> None:
    half = svg('<rect id="a" x="20" y="20" width="20" height="20"/>', {"a": "a"}, view="0 0 80 60")
    assert box_of(half, "a") == (10, 10, 20, 20)
    moved = svg('<g transform="translate(10,5) scale(2)"><rect id="a" width="4" height="3"/></g>', {"a": "a"})
    assert box_of(moved, "a") == (10, 5, 18, 11)
    turned = svg('<rect id="a" width="8" height="4" transform="rotate(90 10 10)"/>', {"a": "a"})
    assert box_of(turned, "a") == (16, 0, 20, 8)


def test_what_is_used_is_drawn_where_it_is_used() -> None:
    picture = svg(
        '<defs><g id="d"><rect width="4" height="4"/></g></defs><g id="a"><use href="#d" x="7" y="9"/></g>', {"a": "a"}
    )
    assert box_of(picture, "a") == (7, 9, 11, 13)
    assert inked(picture.image) == (7, 9, 11, 13)


@pytest.mark.parametrize(
    ("data", "low", "high"),
    [
        ("M5 5h10v8h-10z", (5, 5), (15, 13)),
        ("m5,5 10,0 0,8 -10,0z", (5, 5), (15, 13)),
        ("M10 5a5 5 0 0 1 0 10a5 5 0 0 1 0 -10z", (5, 5), (15, 15)),
        ("M10 5A5 5 0 1 0 10.001 5z", (5, 5), (15, 15)),
        ("M5 10A5 5 0 0 1 15 10", (5, 5), (15, 10)),
        ("M5 10A1 1 0 0 0 15 10", (5, 10), (15, 15)),
        ("M0 0Q10 0 10 10T20 20", (0, 0), (20, 20)),
        ("M0 0C0 5 5 10 10 10S20 15 20 20", (0, 0), (20, 20)),
    ],
)
def test_path_data_reaches_as_far_as_it_says(data: str, low: tuple[float, float], high: tuple[float, float]) -> None:
    extents = path_outline(data).get_extents()
    assert np.allclose([*extents.min, *extents.max], [*low, *high], atol=0.02)


def test_path_data_with_too_few_numbers_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a multiple of 6"):
        path_outline("M0 0C1 2 3 4")


def test_what_looks_cannot_draw_is_an_error() -> None:
    for inside in ('<image href="x.png"/>', '<rect clip-path="url(#c)"/>', '<g transform="skewX(3)"/>'):
        with pytest.raises(ValueError, match="cannot draw"):
            svg(inside)


def test_of_two_rules_the_more_special_holds_and_important_ones_before_all() -> None:
    sheet = style_sheet(
        ElementTree.fromstring(
            "<svg><style>#c .bar{fill:red;stroke:black} .bar{fill:blue} g > .bar.dark{fill:green}"
            " text{stroke:none !important} .bar:hover{fill:pink}"
            " .axis:not(.web) text[transform]{fill:gold}</style></svg>"
        )
    )

    def part(tag: str, classes: str = "", identity: str = "", **given: str) -> StyledPart:
        return StyledPart(tag=tag, identity=identity, classes=frozenset(classes.split()), attributes=given)

    chart = part("svg", identity="c")
    assert sheet.declarations_of((chart, part("g"), part("rect", "bar dark"))) == {"fill": "red", "stroke": "black"}
    assert sheet.declarations_of((part("g"), part("rect", "bar dark"))) == {"fill": "green"}
    assert sheet.declarations_of((part("g"), part("a"), part("rect", "bar dark"))) == {"fill": "blue"}
    assert sheet.declarations_of((part("g", "axis"), part("text", transform="x"))) == {"fill": "gold", "stroke": "none"}
    assert sheet.declarations_of((part("g", "axis web"), part("text", transform="x"))) == {"stroke": "none"}


def test_letters_stand_where_their_anchor_says() -> None:
    wide = lettering("sans", "HHH").advance * 8
    for anchor, left in (("start", 20.0), ("middle", 20 - wide / 2), ("end", 20 - wide)):
        text = f'<text id="a" x="20" y="15" font-size="8" text-anchor="{anchor}">HHH</text>'
        x1, y1, x2, y2 = box_of(svg(text, {"a": "a"}), "a")
        assert abs(x1 - left) < 2
        assert abs(x2 - left - wide) < 2
        assert (y1, y2) == (9, 15)


def test_bold_letters_are_wider_and_kerned_pairs_narrower() -> None:
    assert lettering("sans", "Wins", is_bold=True).advance > 1.05 * lettering("sans", "Wins").advance
    assert lettering("sans", "AV").advance < lettering("sans", "A").advance + lettering("sans", "V").advance


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's count of a process's pages")
def test_words_that_were_lettered_once_are_not_kept_for_good() -> None:
    def held_pages() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])

    words = (f"{number * 7919:08d}" for number in range(3600))
    for one in islice(words, 600):  # fills what is kept of the last
        lettering("sans", one)
    before = held_pages()
    for one in words:
        lettering("sans", one)
    assert held_pages() - before < 1500
