import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.tools.images import (
    IMAGE_TOOLS,
    MAX_SIDE_PX,
    contrast,
    crop,
    draw_boxes,
    draw_points,
    flip,
    measure,
    rotate,
    zoom,
)
from saccade.tools.tool import ToolOutput, find_tool
from saccade.types import Json


def gradient(width: int = 100, height: int = 60) -> Image.Image:
    """Every pixel tells its place: red is x, green is y."""
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([x % 256, y % 256, np.full_like(x, 7)], axis=-1).astype(np.uint8))


def pixels(image: Image.Image) -> list[list[list[int]]]:
    values: list[list[list[int]]] = np.asarray(image).tolist()
    return values


def test_the_tools_have_their_names() -> None:
    names = [tool.name for tool in IMAGE_TOOLS]
    assert names == ["crop", "zoom", "rotate", "flip", "contrast", "draw_boxes", "draw_points", "measure"]


def test_a_crop_holds_the_originals_pixels() -> None:
    output = crop(gradient(), Box(10, 20, 50, 40))
    assert output.text == "the region, 40 x 20 px of the original"
    assert output.data == {"box": [10, 20, 50, 40], "size": [40, 20]}
    assert pixels(output.images[0]) == [[[x, y, 7] for x in range(10, 50)] for y in range(20, 40)]


def test_a_crop_takes_every_pixel_that_the_box_touches_and_forgives_rounding_noise() -> None:
    assert crop(gradient(), Box(10.4, 20.6, 49.2, 39.1)).data["box"] == [10, 20, 50, 40]
    assert crop(gradient(), Box(9.9999999, 20.0000001, 50.0000001, 39.9999999)).data["box"] == [10, 20, 50, 40]


def test_a_box_partly_outside_is_clipped_with_a_note() -> None:
    output = crop(gradient(), Box(-20, -5, 30, 25))
    assert output.data["box"] == [0, 0, 30, 25]
    assert output.text == ("the region, 30 x 25 px of the original (bbox_2d reached outside the image and was clipped)")


def test_the_whole_image_is_a_region() -> None:
    output = crop(gradient(), Box(0, 0, 100, 60))
    assert pixels(output.images[0]) == pixels(gradient())
    assert "clipped" not in output.text


BAD_BOXES = [
    (Box(100, 0, 140, 40), "wholly outside"),
    (Box(-40, -40, 0, 0), "wholly outside"),
    (Box(500, 500, 600, 600), "wholly outside"),
    (Box(50, 20, 10, 40), "inverted"),
    (Box(10, 40, 50, 20), "inverted"),
    (Box(10, 20, 10, 40), "empty"),
    (Box(10, 20, 50, 20), "empty"),
    (Box(10, 20, 13, 40), "only 3 x 20 px"),
    (Box(98, 20, 140, 40), "only 2 x 20 px"),
]


@pytest.mark.parametrize("look", [crop, zoom])
@pytest.mark.parametrize(("box", "message"), BAD_BOXES)
def test_a_box_outside_the_image_is_an_error_the_model_sees(
    look: Callable[[Image.Image, Box], ToolOutput], box: Box, message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        look(gradient(), box)


def test_a_region_may_not_be_a_thread() -> None:
    with pytest.raises(ToolError, match="more than 100 times longer than wide"):
        crop(gradient(1000, 60), Box(0, 0, 1000, 5))


def test_zoom_enlarges_to_the_originals_longer_side() -> None:
    output = zoom(gradient(), Box(10, 20, 30, 30))
    assert output.images[0].size == (100, 50)
    assert output.text == "the region, 20 x 10 px of the original, enlarged 5 times"
    assert zoom(gradient(), Box(0, 0, 10, 20)).images[0].size == (50, 100)
    assert zoom(gradient(), Box(0, 0, 100, 60)).images[0].size == (100, 60)


def test_zoom_is_bounded_and_never_shrinks() -> None:
    large = Image.new("RGB", (3000, 100))
    assert zoom(large, Box(0, 0, 100, 50)).images[0].size == (2048, 1024)
    assert zoom(large, Box(0, 0, 2500, 100)).images[0].size == (2500, 100)


def test_pictures_over_the_bound_are_shrunk_and_the_text_says_so() -> None:
    huge = Image.new("RGB", (8192, 1024))
    for output in (
        crop(huge, Box(0, 0, 8192, 1024)),
        zoom(huge, Box(0, 0, 8192, 1024)),
        flip(huge, "horizontal"),
        contrast(huge, 2),
    ):
        assert output.images[0].size == (MAX_SIDE_PX, 512)
        assert "shrunk to 4096 x 512 px" in output.text
    assert max(rotate(huge, 30).images[0].size) <= MAX_SIDE_PX
    assert draw_boxes(huge, [Box(0, 0, 9, 9)]).images[0].size == (MAX_SIDE_PX, 512)


def test_a_quarter_turn_moves_every_pixel_anticlockwise() -> None:
    output = rotate(gradient(4, 2), 90)
    assert output.text == "turned by 90 degrees anticlockwise"
    assert pixels(output.images[0]) == [[[x, y, 7] for y in range(2)] for x in (3, 2, 1, 0)]
    assert pixels(rotate(gradient(4, 2), -270).images[0]) == pixels(output.images[0])


def test_a_skew_turn_cuts_nothing_off_and_fills_with_grey() -> None:
    turned = rotate(Image.new("RGB", (100, 60), (255, 255, 255)), 45).images[0]
    assert min(turned.size) >= 113
    assert turned.getpixel((0, 0)) == (128, 128, 128)
    assert turned.getpixel((turned.width // 2, turned.height // 2)) == (255, 255, 255)


def test_flips_mirror_every_pixel() -> None:
    horizontal, vertical = flip(gradient(3, 2), "horizontal"), flip(gradient(3, 2), "vertical")
    assert pixels(horizontal.images[0]) == [[[x, y, 7] for x in (2, 1, 0)] for y in (0, 1)]
    assert pixels(vertical.images[0]) == [[[x, y, 7] for x in (0, 1, 2)] for y in (1, 0)]
    assert (horizontal.text, vertical.text) == ("left and right swapped", "top and bottom swapped")


def test_contrast_spreads_values_around_their_mean() -> None:
    image = Image.new("RGB", (2, 1))
    image.putdata([(100, 100, 100), (140, 140, 140)])
    assert pixels(contrast(image, 2).images[0]) == [[[80, 80, 80], [160, 160, 160]]]
    assert pixels(contrast(image, 1).images[0]) == pixels(image)


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.05, 11.0])
def test_a_contrast_out_of_bounds_is_an_error(factor: float) -> None:
    with pytest.raises(ToolError, match="factor must be from"):
        contrast(gradient(), factor)


def test_a_turn_out_of_bounds_is_an_error() -> None:
    with pytest.raises(ToolError, match="degrees must be from"):
        rotate(gradient(), 361)


def test_boxes_are_drawn_on_a_copy_along_their_edges() -> None:
    original = gradient()
    output = draw_boxes(original, [Box(20, 10, 60, 50), Box(-5, -5, 200, 200)])
    drawn = output.images[0]
    assert output.text == "2 drawn"
    assert pixels(original) == pixels(gradient())
    for corner in ((20, 10), (59, 10), (20, 49), (59, 49), (0, 0), (99, 59)):
        assert drawn.getpixel(corner) == (255, 0, 0)
    assert drawn.getpixel((50, 40)) == (50, 40, 7)


def test_points_are_drawn_on_a_copy() -> None:
    original = gradient()
    drawn = draw_points(original, [Point(30, 30), Point(100, 60)]).images[0]
    assert pixels(original) == pixels(gradient())
    assert drawn.getpixel((30, 30)) == (255, 0, 0)
    assert drawn.getpixel((60, 15)) == (60, 15, 7)


def test_what_cannot_be_drawn_is_named_by_its_number() -> None:
    with pytest.raises(ToolError, match="box 2 lies wholly outside the image"):
        draw_boxes(gradient(), [Box(0, 0, 5, 5), Box(200, 0, 300, 50)])
    with pytest.raises(ToolError, match="box 1 is inverted"):
        draw_boxes(gradient(), [Box(5, 5, 0, 0)])
    with pytest.raises(ToolError, match="point 2 lies outside the image"):
        draw_points(gradient(), [Point(0, 0), Point(101, 0)])


@pytest.mark.parametrize(
    ("end", "distance", "angle"),
    [
        (Point(80, 30), 30.0, 0.0),
        (Point(50, 10), 20.0, 90.0),
        (Point(20, 30), 30.0, 180.0),
        (Point(50, 55), 25.0, -90.0),
        (Point(53, 26), 5.0, math.degrees(math.atan2(4, 3))),
    ],
)
def test_a_line_is_measured_in_pixels_of_the_original(end: Point, distance: float, angle: float) -> None:
    output = measure(gradient(), Point(50, 30), end)
    assert output.data == {"distance_px": distance, "angle_degrees": angle}
    assert output.text == f"{distance:.1f} px, {angle:.1f} degrees"
    assert output.images == ()


def test_a_line_needs_two_points_inside_the_image() -> None:
    with pytest.raises(ToolError, match="start lies outside"):
        measure(gradient(), Point(-1, 0), Point(5, 5))
    with pytest.raises(ToolError, match="end lies outside"):
        measure(gradient(), Point(1, 0), Point(5, 61))
    with pytest.raises(ToolError, match="same point"):
        measure(gradient(), Point(5, 5), Point(5, 5))


coordinates = st.floats(-1e9, 1e9) | st.integers(-50, 200)
boxes = st.lists(coordinates, min_size=4, max_size=4)
points = st.lists(coordinates, min_size=2, max_size=2)
calls = st.one_of(
    st.tuples(st.sampled_from(["crop", "zoom"]), st.fixed_dictionaries({"bbox_2d": boxes})),
    st.tuples(st.just("rotate"), st.fixed_dictionaries({"degrees": coordinates})),
    st.tuples(st.just("contrast"), st.fixed_dictionaries({"factor": coordinates})),
    st.tuples(st.just("draw_boxes"), st.fixed_dictionaries({"boxes": st.lists(boxes, min_size=1, max_size=3)})),
    st.tuples(st.just("draw_points"), st.fixed_dictionaries({"points": st.lists(points, min_size=1, max_size=3)})),
    st.tuples(st.just("measure"), st.fixed_dictionaries({"start": points, "end": points})),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(calls, st.sampled_from([(1, 1), (4, 4), (37, 5), (64, 64)]))
def test_any_numbers_give_a_result_or_a_tool_error(call: tuple[str, dict[str, Json]], size: tuple[int, int]) -> None:
    media = MediaStore()
    image = media.add(gradient(*size))
    name, arguments = call
    try:
        result = find_tool(name, IMAGE_TOOLS).call(arguments, (image,), media)
    except ToolError:
        return
    assert all(0 < picture.width * picture.height <= 1 << 24 for picture in result.images)
