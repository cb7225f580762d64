"""Which regions a second look shows, worked out by hand, and which pixels are in them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import UserError
from saccade.evaluation.views import CropSettings, ViewKind, Views, cut_views, view_regions
from saccade.geometry import Box, iou
from saccade.media.resize import MAX_ASPECT_RATIO
from saccade.media.store import MediaStore

SMALL = CropSettings(min_side_px=1)
BOTH = Views(cut=SMALL)
CROPS = Views(union=False, cut=SMALL)
UNION = Views(crops=False, cut=SMALL)
NEITHER = Views(crops=False, union=False, cut=SMALL)

A, B = Box(10, 10, 30, 20), Box(60, 40, 80, 50)
A_AND_B = Box(10, 10, 80, 50)


def regions(*boxes: Box, views: Views = BOTH, size: tuple[int, int] = (100, 60)) -> list[tuple[ViewKind, Box]]:
    return view_regions(boxes, *size, views)


def crops(*boxes: Box, cut: CropSettings = SMALL, size: tuple[int, int] = (100, 60)) -> list[Box]:
    return [box for _, box in regions(*boxes, views=Views(union=False, cut=cut), size=size)]


def numbered_pixels(width: int, height: int) -> Image.Image:
    """Each pixel says where it is: red its column, green its row."""
    rows, columns = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([columns, rows, np.zeros_like(rows)], axis=2).astype(np.uint8))


@pytest.mark.parametrize(
    ("views", "expected"),
    [
        (NEITHER, []),
        (CROPS, [("crop", A), ("crop", B)]),
        (UNION, [("union", A_AND_B)]),
        (BOTH, [("crop", A), ("crop", B), ("union", A_AND_B)]),
    ],
)
def test_the_four_rows_of_table_4(views: Views, expected: list[tuple[ViewKind, Box]]) -> None:
    assert regions(A, B, views=views) == expected


def test_crops_come_in_the_order_in_which_their_boxes_were_written() -> None:
    assert crops(B, A) == [B, A]


@pytest.mark.parametrize("views", [CROPS, UNION, BOTH])
def test_without_a_box_there_is_no_view(views: Views) -> None:
    assert regions(views=views) == []


@pytest.mark.parametrize(
    "box",
    [
        Box(30, 20, 10, 10),
        Box(30, 10, 10, 20),
        Box(10, 20, 30, 10),
        Box(10, 10, 10, 20),
        Box(10, 10, 30, 10),
        Box(100, 10, 120, 20),
        Box(-20, 10, 0, 20),
        Box(10, 60, 20, 70),
        Box(1e9, 1e9, 1e9, 1e9),
        Box(math.nan, 0, 10, 10),
        Box(math.inf, 0, -math.inf, 10),
    ],
)
def test_an_inverted_an_empty_and_an_outer_box_count_neither_for_a_crop_nor_for_the_union(box: Box) -> None:
    assert regions(box) == []
    assert regions(A, box, B) == [("crop", A), ("crop", B), ("union", A_AND_B)]


def test_a_box_that_reaches_outside_is_clipped() -> None:
    assert crops(Box(-50, 40, 20, 1e9)) == [Box(0, 40, 20, 60)]


def test_corners_between_pixels_take_every_pixel_that_is_touched() -> None:
    assert crops(Box(10.2, 10.9, 29.1, 20)) == [Box(10, 10, 30, 20)]


def test_the_noise_of_a_conversion_there_and_back_takes_no_pixel_more() -> None:
    assert crops(Box(10 - 1e-9, 10 + 1e-9, 30 + 1e-9, 20 - 1e-9)) == [A]


@pytest.mark.parametrize(
    ("box", "grown"),
    [
        (Box(50, 30, 52, 31), Box(46, 25, 56, 35)),
        (Box(50, 30, 50.4, 30.4), Box(45, 25, 55, 35)),
        (Box(0, 0, 2, 2), Box(0, 0, 10, 10)),
        (Box(98, 58, 100, 60), Box(90, 50, 100, 60)),
        (Box(20, 30, 60, 31), Box(20, 25, 60, 35)),
    ],
)
def test_a_tiny_box_is_grown_around_its_centre_and_stays_inside(box: Box, grown: Box) -> None:
    assert crops(box, cut=CropSettings(min_side_px=10)) == [grown]


def test_no_crop_is_larger_than_its_image() -> None:
    assert crops(Box(2, 2, 3, 3), cut=CropSettings(min_side_px=28), size=(100, 8)) == [Box(0, 0, 28, 8)]
    assert crops(Box(2, 2, 3, 3), cut=CropSettings(min_side_px=28), size=(20, 8)) == []


def test_a_box_too_long_and_thin_for_a_model_is_widened() -> None:
    [crop] = crops(Box(0, 500, 4000, 501), size=(4000, 1000))
    assert crop == Box(0, 480, 4000, 520)


def test_padding_grows_a_box_by_a_share_of_its_sides_and_stays_inside() -> None:
    cut = CropSettings(min_side_px=1, padding=0.5)
    assert crops(Box(40, 20, 60, 30), cut=cut) == [Box(30, 15, 70, 35)]
    assert crops(Box(0, 50, 20, 60), cut=cut) == [Box(0, 45, 30, 60)]
    assert regions(Box(40, 20, 50, 30), Box(50, 20, 60, 30), views=Views(crops=False, cut=cut)) == [
        ("union", Box(30, 15, 70, 35))
    ]


def test_a_box_that_is_nearly_one_before_it_is_shown_once() -> None:
    # 20 x 20 and a pixel to the right: 19 * 20 shared of 21 * 20 in all, 0.905.
    first, near, far = Box(10, 10, 30, 30), Box(11, 10, 31, 30), Box(12, 10, 32, 30)
    assert iou(first, near) == pytest.approx(19 / 21)
    assert crops(first, first, near, far) == [first, far]
    assert crops(first, near, first, cut=CropSettings(min_side_px=1, same_iou=1.0)) == [first, near]


def test_tiny_boxes_beside_each_other_grow_into_one_crop() -> None:
    assert crops(Box(50, 30, 51, 31), Box(51, 30, 52, 31), cut=CropSettings(min_side_px=28)) == [Box(36, 16, 64, 44)]


@pytest.mark.parametrize("views", [CROPS, UNION, BOTH])
@pytest.mark.parametrize("box", [Box(0, 0, 100, 60), Box(1, 1, 99, 59), Box(-1e9, -1e9, 1e9, 1e9)])
def test_the_whole_image_is_not_shown_a_second_time(box: Box, views: Views) -> None:
    assert regions(box, views=views) == []


def test_one_giant_box_leaves_the_others_their_crops() -> None:
    assert regions(Box(-10, -10, 1000, 1000), A) == [("crop", A)]


def test_the_union_is_left_out_where_it_is_the_only_crop_and_shown_where_crops_are_not() -> None:
    assert regions(A) == [("crop", A)]
    assert regions(A, views=UNION) == [("union", A)]


def test_the_union_is_left_out_where_a_crop_already_holds_all_others() -> None:
    assert regions(A, A_AND_B, B) == [("crop", A), ("crop", A_AND_B), ("crop", B)]


def test_the_union_counts_boxes_that_got_no_crop() -> None:
    cut = CropSettings(min_side_px=1, max_crops=1)
    assert regions(A, B, views=Views(cut=cut)) == [("crop", A), ("union", A_AND_B)]


def test_of_a_hundred_boxes_the_first_ones_are_shown() -> None:
    boxes = [Box(10 * index, 0, 10 * index + 5, 50) for index in range(100)]
    found = regions(*boxes, size=(1000, 1000))
    assert found == [*(("crop", box) for box in boxes[:8]), ("union", Box(0, 0, 995, 50))]


@given(
    size=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    boxes=st.lists(
        st.tuples(*[st.one_of(st.floats(-400, 400), st.floats(), st.integers(-(10**9), 10**9))] * 4), max_size=12
    ),
    padding=st.floats(0, 10),
    min_side=st.integers(1, 400),
)
def test_whatever_the_boxes_views_are_whole_pixels_inside_the_image_and_differ(
    size: tuple[int, int], boxes: list[tuple[float, float, float, float]], padding: float, min_side: int
) -> None:
    width, height = size
    cut = CropSettings(padding=padding, min_side_px=min_side, max_crops=4)
    found = regions(*(Box(*box) for box in boxes), views=Views(cut=cut), size=size)
    assert len(found) <= 5
    assert [kind for kind, _ in found].count("union") <= 1
    shown = [Box(0, 0, width, height), *(box for _, box in found)]
    for index, box in enumerate(shown[1:], start=1):
        assert all(float(side).is_integer() for side in box.as_tuple())
        assert box == box.clipped(width, height)
        assert box.width >= min(min_side, width)
        assert box.height >= min(min_side, height)
        if max(size) <= MAX_ASPECT_RATIO * min(size):
            assert max(box.width, box.height) <= MAX_ASPECT_RATIO * min(box.width, box.height)
        assert all(iou(box, other) < cut.same_iou for other in shown[:index])


def test_crops_hold_the_pixels_of_the_original() -> None:
    media = MediaStore()
    original = numbered_pixels(100, 60)
    views = cut_views(media.add(original), [A, B], BOTH, media)
    assert [(view.kind, view.box) for view in views] == [("crop", A), ("crop", B), ("union", A_AND_B)]
    for view in views:
        picture = media.get(view.image)
        assert (picture.width, picture.height) == (view.image.width, view.image.height)
        assert picture.size == (view.box.width, view.box.height)
        assert picture.getpixel((0, 0)) == (view.box.x1, view.box.y1, 0)
        assert picture.getpixel((picture.width - 1, picture.height - 1)) == (view.box.x2 - 1, view.box.y2 - 1, 0)
    left, top, right, bottom = (int(side) for side in A.as_tuple())
    assert np.array_equal(np.asarray(media.get(views[0].image)), np.asarray(original)[top:bottom, left:right])


def test_a_crop_larger_than_the_bound_is_shrunk_as_the_crop_tool_does() -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (8200, 200), "red"))
    [view] = cut_views(image, [Box(0, 0, 8192, 100)], CROPS, media)
    assert view.box == Box(0, 0, 8192, 100)
    assert (view.image.width, view.image.height) == (4096, 50)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"padding": -0.1}, "padding=-0.1 must be a number from 0 to 10"),
        ({"padding": math.nan}, "padding=nan must be"),
        ({"min_side_px": 0}, "min_side_px=0 must be a whole number of 1 or more"),
        ({"max_crops": 0}, "max_crops=0 must be a whole number of 1 or more"),
        ({"same_iou": 0.0}, "same_iou=0.0 must be a number above 0 and at most 1"),
        ({"same_iou": 1.1}, "same_iou=1.1 must be a number above 0 and at most 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CropSettings(**wrong)  # type: ignore[arg-type]
