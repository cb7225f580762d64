"""Which way lines run, and where they stand on a page that is turned back."""

import math

import pytest
from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.readers.text.quads import level_box, page_angle, pixels_of, quad_of

FLAT = [[0.0, 0.0], [100.0, 0.0], [100.0, 20.0], [0.0, 20.0]]


def turned(points: list[list[float]], degrees: float) -> list[list[float]]:
    turn = math.radians(degrees)
    return [[x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)] for x, y in points]


@pytest.mark.parametrize("degrees", [-80, -45, -3, 0, 3, 30, 80])
def test_a_line_runs_along_its_longer_side_to_the_right(degrees: float) -> None:
    for start in range(4):
        corners = turned(FLAT, degrees)
        quad = quad_of(corners[start:] + corners[:start])
        assert quad.angle == pytest.approx(degrees)
        assert (quad.length, quad.height) == (pytest.approx(100), pytest.approx(20))


def test_the_corners_may_go_round_either_way() -> None:
    assert quad_of(FLAT[::-1]).corners.tolist() == quad_of(FLAT).corners.tolist()


def test_a_line_that_stands_upright_runs_upwards() -> None:
    assert quad_of(turned(FLAT, 90)).angle == pytest.approx(-90)
    assert quad_of(turned(FLAT, 180)).angle == pytest.approx(0)


def test_a_letter_runs_as_its_page_does() -> None:
    letter = turned([[0.0, 0.0], [12.0, 0.0], [12.0, 18.0], [0.0, 18.0]], 40)
    assert quad_of(letter, page=40).angle == pytest.approx(40)
    assert quad_of([[0, 0], [12, 0], [12, 18], [0, 18]]).angle == pytest.approx(0)


def test_what_is_slanted_is_higher_than_its_line() -> None:
    assert [quad_of(turned(FLAT, degrees)).is_slanted for degrees in (0, 1, 3, 45, 89.5, 90)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]


def test_the_page_has_the_angle_of_most_lines() -> None:
    level = [quad_of(turned(FLAT, degrees)) for degrees in (9, 10, 11)]
    upright = quad_of(turned(FLAT, -90))
    assert page_angle([*level, upright]) == pytest.approx(10)
    assert page_angle([upright, upright, level[0]]) == pytest.approx(-90)
    assert page_angle([quad_of(turned(FLAT, 0.3))]) == 0.0
    assert page_angle([]) == 0.0


def test_a_line_is_put_back_where_the_upright_page_has_it() -> None:
    back = level_box(quad_of(turned(FLAT, 30)), 30)
    assert back.as_tuple() == pytest.approx((0, 0, 100, 20))
    assert level_box(quad_of(FLAT), 0.0) == Box(0, 0, 100, 20)


def test_the_pixels_of_a_slanted_line_are_upright() -> None:
    image = Image.new("RGB", (200, 200), "white")
    corners = [[x + 40, y + 20] for x, y in turned(FLAT, 45)]
    ImageDraw.Draw(image).polygon([tuple(corner) for corner in corners], fill="red")
    crop = pixels_of(image, quad_of(corners))
    assert crop.size == (104, 22)
    assert crop.getpixel((52, 11)) == (255, 0, 0)
    assert pixels_of(image, quad_of(corners).part(0.5, 1.0)).size == (54, 22)
