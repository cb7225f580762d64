"""Detection and segmentation tools over a detector and a segmenter that give what a test wants."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Mask, Point
from saccade.media.store import MediaStore
from saccade.testing.tool_check import check_tool
from saccade.tools.perception import MAX_SHOWN, detection_tool, segmentation_tool
from saccade.types import Json, ToolResult
from saccade.vision_models.kinds import Detection, DetectionRequest, Segmentation, SegmentationRequest


@dataclass
class FixedDetector:
    """Finds the same in every picture."""

    detections: Sequence[Detection]
    requests: list[DetectionRequest] = field(default_factory=list)
    batches: int = 0

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> list[Sequence[Detection]]:
        self.batches += 1
        self.requests += requests
        return [self.detections for _ in requests]


@dataclass
class BoxSegmenter:
    """Cuts out the whole box, or a square around the first point."""

    requests: list[SegmentationRequest] = field(default_factory=list)

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        self.requests += requests
        return [Segmentation(mask=_mask(request), score=0.875) for request in requests]


def _mask(request: SegmentationRequest) -> Mask:
    region = np.zeros((request.image.height, request.image.width), dtype=bool)
    if request.box is not None:
        x1, y1, x2, y2 = (round(side) for side in request.box.as_tuple())
    else:
        x1, y1 = (round(side) - 1 for side in (request.points[0].x, request.points[0].y))
        x2, y2 = x1 + 2, y1 + 2
    region[y1:y2, x1:x2] = True
    return Mask.from_array(region)


CAR = Detection(phrase="red car", box=Box(20, 10, 120, 60), score=0.75)
SAME_CAR = Detection(phrase="van", box=Box(21, 10, 120, 61), score=0.5)
TREE = Detection(phrase="tree", box=Box(150, 50, 230, 120), score=0.9)
OUTSIDE = Detection(phrase="tree", box=Box(300, 10, 320, 60), score=0.9)


def found(detector: FixedDetector, arguments: dict[str, Json], size: tuple[int, int] = (200, 100)) -> ToolResult:
    media = MediaStore()
    return detection_tool(detector).call(arguments, [media.add(Image.new("RGB", size))], media)


def test_things_are_listed_from_the_best_with_a_picture_of_them() -> None:
    result = found(FixedDetector([CAR, TREE]), {"phrases": "red car, tree"})
    assert result.text.splitlines() == [
        "1. tree at [750, 500, 1000, 1000], score 0.90",
        "2. red car at [100, 100, 600, 600], score 0.75",
        "(left, top, right, bottom, in thousandths of the image's width and height)",
    ]
    assert result.data == {
        "detections": [
            # Clipped to the picture.
            {"phrase": "tree", "box": [150.0, 50.0, 200.0, 100.0], "score": 0.9},
            {"phrase": "red car", "box": [20.0, 10.0, 120.0, 60.0], "score": 0.75},
        ]
    }
    assert [(image.width, image.height) for image in result.images] == [(200, 100)]


def test_a_thing_is_shown_once_and_nothing_outside_the_picture() -> None:
    result = found(FixedDetector([SAME_CAR, CAR, OUTSIDE]), {"phrases": "red car"})
    assert [line.split(" at ")[0] for line in result.text.splitlines()[:-1]] == ["1. red car"]


def test_nothing_found_is_said_and_teaches() -> None:
    result = found(FixedDetector([]), {"phrases": "a"})
    assert result.text == "found nothing; try other words or a lower box_threshold"
    assert (result.images, result.data) == ((), {"detections": []})


def test_only_the_best_are_shown() -> None:
    many = [Detection(phrase="dot", box=Box(5 * i, 0, 5 * i + 4, 9), score=0.5 + i / 1000) for i in range(40)]
    result = found(FixedDetector(many), {"phrases": "dot"})
    assert len(result.data["detections"]) == MAX_SHOWN  # type: ignore[arg-type]
    assert result.text.endswith("only the best 32 are shown")


def test_phrases_are_parted_and_thresholds_reach_the_detector() -> None:
    detector = FixedDetector([])
    found(detector, {"phrases": " red  car,tree. A dog;\n,tree", "box_threshold": 0.5, "text_threshold": 1})
    (request,) = detector.requests
    assert request.phrases == ("red car", "tree", "A dog")
    assert (request.box_threshold, request.text_threshold) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("arguments", "size", "message"),
    [
        ({"phrases": " ., ;"}, (64, 64), "phrases names nothing"),
        ({"phrases": ",".join(map(str, range(17)))}, (64, 64), "phrases names 17 things; at most 16"),
        ({"phrases": "x" * 65}, (64, 64), "one of phrases is longer than 64 characters"),
        ({"phrases": "a", "box_threshold": 1.5}, (64, 64), "box_threshold must be from 0 to 1"),
        ({"phrases": "a", "text_threshold": -0.1}, (64, 64), "text_threshold must be from 0 to 1"),
        ({"phrases": "a"}, (1000, 4), "image is 1000 x 4 px"),
        ({"phrases": ["a"]}, (64, 64), 'the argument phrases is \\["a"\\]'),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    arguments: dict[str, Json], size: tuple[int, int], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        found(FixedDetector([]), arguments, size)


def test_searches_together_are_one_batch_and_a_bad_one_is_refused_alone() -> None:
    detector = FixedDetector([CAR])
    function = detection_tool(detector).function
    image = Image.new("RGB", (200, 100))
    first, bad, last = function.batch(  # type: ignore[attr-defined]
        [
            {"image": image, "phrases": "red car"},
            {"image": image, "phrases": "."},
            {"image": image, "phrases": "red car", "box_threshold": 0.5},
        ]
    )
    assert (first.text, isinstance(bad, ToolError)) == (last.text, True)
    assert first.text == function(image=image, phrases="red car").text
    assert detector.batches == 2
    assert function.batch([{"image": image, "phrases": "."}])  # type: ignore[attr-defined]
    assert detector.batches == 2


def test_the_detection_tool_keeps_its_contract() -> None:
    check_tool(detection_tool(FixedDetector([CAR, TREE])), [{"phrases": "red car, tree"}])


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
        [{"image": image}, {"image": image, "bbox_2d": Box(0, 0, 10, 10)}, {"image": image, "points": [Point(5, 5)]}]
    )
    assert isinstance(bad, ToolError)
    assert (one.data["area_px"], other.data["area_px"]) == (100, 4)


def test_the_segmentation_tool_keeps_its_contract() -> None:
    calls: list[dict[str, Json]] = [{"bbox_2d": [10, 5, 20, 15]}, {"points": [[5, 5]]}]
    check_tool(segmentation_tool(BoxSegmenter()), calls)
