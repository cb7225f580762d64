import pytest
from perception_models import FixedDetector
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.testing.tool_check import check_tool
from saccade.tools.perception.detection import MAX_SHOWN, detection_tool
from saccade.types import Json, ToolResult
from saccade.vision_models.requests import Detection

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
def test_a_call_that_makes_no_sense_is_refused(arguments: dict[str, Json], size: tuple[int, int], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        found(FixedDetector([]), arguments, size)


def test_calls_together_are_one_batch_and_a_bad_one_is_refused_alone() -> None:
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


def test_the_tool_keeps_its_contract() -> None:
    check_tool(detection_tool(FixedDetector([CAR, TREE])), [{"phrases": "red car, tree"}])
