import pytest
from perception_models import BoxSegmenter
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Mask, Point
from saccade.media.store import MediaStore
from saccade.testing.tool_check import check_tool
from saccade.tools.perception.segmentation import segmentation_tool
from saccade.types import Json, ToolResult


def cut_out(arguments: dict[str, Json], segmenter: BoxSegmenter | None = None) -> tuple[ToolResult, MediaStore]:
    media = MediaStore()
    shown = media.add(Image.new("RGB", (40, 20), (0, 0, 100)))
    return segmentation_tool(segmenter or BoxSegmenter()).call(arguments, [shown], media), media


def test_a_region_is_told_shown_and_given_as_a_mask() -> None:
    result, media = cut_out({"bbox_2d": [10, 5, 20, 15]})
    assert result.text == (
        "the region covers 12.5 % of the image, within [250, 250, 500, 750] (left, top, right, bottom, in thousandths "
        "of the image's width and height); score 0.88"
    )
    mask = result.data["mask"]
    assert isinstance(mask, dict)
    assert mask["size"] == [20, 40]
    region = Mask(width=40, height=20, counts=tuple(mask["counts"])).to_array()  # type: ignore[arg-type]
    assert region.sum() == 100
    assert region[5:15, 10:20].all()
    assert {key: value for key, value in result.data.items() if key != "mask"} == {
        "area_px": 100,
        "score": 0.875,
        "box": [10.0, 5.0, 20.0, 15.0],
    }
    picture = media.get(result.images[0])
    assert (picture.getpixel((15, 10)), picture.getpixel((0, 0))) == ((127, 0, 50), (0, 0, 100))


def test_box_and_points_reach_the_segmenter_clipped() -> None:
    segmenter = BoxSegmenter()
    cut_out({"bbox_2d": [-5, 5, 20, 99], "points": [[3, 6], [40, 20]]}, segmenter)
    cut_out({"points": [[3, 6]]}, segmenter)
    both, points = segmenter.requests
    assert (both.box, both.points) == (Box(0, 5, 20, 20), (Point(3, 6), Point(40, 20)))
    assert (points.box, points.points) == (None, (Point(3, 6),))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither bbox_2d nor points is given"),
        ({"bbox_2d": [20, 5, 10, 15]}, "bbox_2d is empty or inverted"),
        ({"bbox_2d": [50, 5, 60, 15]}, "bbox_2d covers less than a pixel"),
        ({"points": [[1, 2], [41, 2]]}, "point 2 of points lies outside the image"),
        ({"points": [[1, 2]] * 17}, "points has 17 points; at most 16"),
        ({"points": []}, "the argument points is"),
        ({"points": None}, "the argument points is null"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(arguments: dict[str, Json], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        cut_out(arguments)


def test_calls_together_are_answered_in_order() -> None:
    function = segmentation_tool(BoxSegmenter()).function
    image = Image.new("RGB", (40, 20))
    bad, one, other = function.batch(  # type: ignore[attr-defined]
        [
            {"image": image},
            {"image": image, "bbox_2d": Box(0, 0, 10, 10)},
            {"image": image, "points": [Point(5, 5)]},
        ]
    )
    assert isinstance(bad, ToolError)
    assert (one.data["area_px"], other.data["area_px"]) == (100, 4)


def test_the_tool_keeps_its_contract() -> None:
    calls: list[dict[str, Json]] = [{"bbox_2d": [10, 5, 20, 15]}, {"points": [[5, 5]]}]
    check_tool(segmentation_tool(BoxSegmenter()), calls)
