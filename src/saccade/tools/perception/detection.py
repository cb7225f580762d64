"""The tool ``detect_objects``: where things are that a model names."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, iou
from saccade.tools.images import draw_boxes
from saccade.tools.perception.together import answered_together
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json
from saccade.vision_models.requests import Detection, DetectionRequest, Detector

DEADLINE_S = 60.0
MAX_PHRASES = 16
MAX_PHRASE_CHARS = 64
MAX_SHOWN = 32
"""Things in a result, the best ones."""
MIN_SIDE_PX = 4
MAX_ASPECT_RATIO = 50.0
"""Aspect ratio of the picture; thinner ones show a detector nothing."""

FRAME_NOTE = "(left, top, right, bottom, in thousandths of the image's width and height)"

SAME_THING_IOU = 0.8
"""Overlap of two boxes above which only the better one is shown."""


def detection_tool(detector: Detector, *, deadline_s: float = DEADLINE_S) -> Tool:
    """``detect_objects`` over a detector; its function also takes many calls at once, as its attribute ``batch``."""

    def detect_objects(
        image: Image.Image,
        phrases: Annotated[str, f"what to look for, parted by commas: red car, person; at most {MAX_PHRASES}"],
        box_threshold: Annotated[float, "from 0 to 1; lower finds more, also things that are not there"] = 0.35,
        text_threshold: Annotated[float, "from 0 to 1; how well a phrase must fit the thing"] = 0.25,
    ) -> ToolOutput:
        """Find all things of the named kinds in an image: their boxes, with scores, and a picture that shows them."""
        request = _request(image, phrases, box_threshold, text_threshold)
        return _output(request, detector.detect_batch([request])[0])

    def detect_many(calls: Sequence[Mapping[str, object]]) -> list[ToolOutput | ToolError]:
        return answered_together(calls, request=_request, find=detector.detect_batch, output=_output)

    detect_objects.batch = detect_many  # type: ignore[attr-defined]
    return tool_from(detect_objects, deadline_s)


def _request(
    image: Image.Image, phrases: str, box_threshold: float = 0.35, text_threshold: float = 0.25
) -> DetectionRequest:
    for name, value in (("box_threshold", box_threshold), ("text_threshold", text_threshold)):
        if not 0 <= value <= 1:
            raise ToolError(f"{name} must be from 0 to 1")
    check_shape(image)
    return DetectionRequest(
        image=image, phrases=_phrases(phrases), box_threshold=box_threshold, text_threshold=text_threshold
    )


def in_thousandths(box: Box, image: Image.Image) -> str:
    """Left, top, right and bottom for a model's eyes; which frame it writes itself is not known here."""
    across, down = 1000 / image.width, 1000 / image.height
    return f"[{box.x1 * across:.0f}, {box.y1 * down:.0f}, {box.x2 * across:.0f}, {box.y2 * down:.0f}]"


def check_shape(image: Image.Image) -> None:
    """``ToolError`` for a picture that is too small or too thin for a model."""
    if min(image.size) < MIN_SIDE_PX or max(image.size) > MAX_ASPECT_RATIO * min(image.size):
        raise ToolError(
            f"image is {image.width} x {image.height} px; both sides must have at least {MIN_SIDE_PX} px and the "
            f"longer one at most {MAX_ASPECT_RATIO:.0f} times the shorter one"
        )


def _phrases(text: str) -> tuple[str, ...]:
    # Full stops part phrases too: they do in the captions that detectors of this kind were trained on.
    phrases = tuple(dict.fromkeys(" ".join(part.split()) for part in re.split(r"[.,;\n]", text)))
    named = tuple(phrase for phrase in phrases if any(character.isalnum() for character in phrase))
    if not named:
        raise ToolError("phrases names nothing; write what to look for, such as red car, person")
    if len(named) > MAX_PHRASES:
        raise ToolError(f"phrases names {len(named)} things; at most {MAX_PHRASES} can be looked for at a time")
    if max(map(len, named)) > MAX_PHRASE_CHARS:
        raise ToolError(f"one of phrases is longer than {MAX_PHRASE_CHARS} characters; name things in a few words")
    return named


def _output(request: DetectionRequest, detections: Sequence[Detection]) -> ToolOutput:
    width, height = request.image.size
    inside = [
        Detection(phrase=found.phrase, box=found.box.clipped(width, height), score=found.score) for found in detections
    ]
    kept = _distinct([found for found in inside if min(found.box.width, found.box.height) >= 1])
    data: dict[str, Json] = {
        "detections": [
            {
                "phrase": found.phrase,
                "box": [round(side, 1) for side in found.box.as_tuple()],
                "score": round(found.score, 4),
            }
            for found in kept
        ]
    }
    if not kept:
        return ToolOutput(text="found nothing; try other words or a lower box_threshold", data=data)
    lines = [
        f"{number}. {found.phrase} at {in_thousandths(found.box, request.image)}, score {found.score:.2f}"
        for number, found in enumerate(kept, start=1)
    ]
    lines.append(FRAME_NOTE)
    if len(kept) == MAX_SHOWN:
        lines.append(f"only the best {MAX_SHOWN} are shown")
    picture = draw_boxes(request.image, [found.box for found in kept]).images
    return ToolOutput(text="\n".join(lines), images=picture, data=data)


def _distinct(detections: Sequence[Detection]) -> list[Detection]:
    """The best ones first, without those that are nearly where a better one is."""
    kept: list[Detection] = []
    for found in sorted(detections, key=lambda found: (-found.score, found.box.as_tuple())):
        if len(kept) < MAX_SHOWN and all(iou(found.box, other.box) <= SAME_THING_IOU for other in kept):
            kept.append(found)
    return kept
