"""Detection and segmentation as tools: ``detect_objects`` finds named things in a picture, ``segment`` cuts one out.

The tools take any ``Detector`` or ``Segmenter`` (``saccade.vision_models``) and check its boxes and masks.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Mask, Point, iou
from saccade.pictures import bounded
from saccade.tools.images import MARK, MAX_SIDE_PX, draw_boxes
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json
from saccade.vision_models.kinds import (
    Detection,
    DetectionRequest,
    Detector,
    Segmentation,
    SegmentationRequest,
    Segmenter,
)

Request = TypeVar("Request")
Found = TypeVar("Found")


def answered_together(
    calls: Sequence[Mapping[str, object]],
    *,
    request: Callable[..., Request],
    find: Callable[[Sequence[Request]], Sequence[Found]],
    output: Callable[[Request, Found], ToolOutput],
) -> list[ToolOutput | ToolError]:
    """The output of each call, in order; ``request`` checks a call and raises ``ToolError``, ``find`` is asked once."""
    good: dict[int, Request] = {}
    answers: dict[int, ToolOutput | ToolError] = {}
    for place, call in enumerate(calls):
        try:
            good[place] = request(**call)
        except ToolError as error:
            answers[place] = error
    found = find(list(good.values())) if good else ()
    for (place, asked), one in zip(good.items(), found, strict=True):
        answers[place] = output(asked, one)
    return [answers[place] for place in range(len(calls))]


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
        request = _detection_request(image, phrases, box_threshold, text_threshold)
        return _detection_output(request, detector.detect_batch([request])[0])

    def detect_many(calls: Sequence[Mapping[str, object]]) -> list[ToolOutput | ToolError]:
        return answered_together(
            calls, request=_detection_request, find=detector.detect_batch, output=_detection_output
        )

    detect_objects.batch = detect_many  # type: ignore[attr-defined]
    return tool_from(detect_objects, deadline_s)


def _detection_request(
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


def _detection_output(request: DetectionRequest, detections: Sequence[Detection]) -> ToolOutput:
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


MAX_POINTS = 16
MAX_RUNS = 20_000
"""Runs of a mask among the data as a list; of a raggeder one they are written as COCO compresses them."""
MAX_COCO_RUNS = 400_000
"""Runs of a mask that is left out: it is noise."""


def segmentation_tool(segmenter: Segmenter, *, deadline_s: float = DEADLINE_S) -> Tool:
    """``segment`` over a segmenter; its function also takes many calls at once, as its attribute ``batch``."""

    def segment(
        image: Image.Image,
        bbox_2d: Annotated[Box | None, "a box around the thing: left, top, right, bottom"] = None,
        points: Annotated[list[Point] | None, f"points on the thing, at most {MAX_POINTS}"] = None,
    ) -> ToolOutput:
        """Find the exact outline of a thing that a box or points show: its area, bounds and a picture of it."""
        request = _segmentation_request(image, bbox_2d, points)
        return _segmentation_output(request, segmenter.segment_batch([request])[0])

    def segment_many(calls: Sequence[Mapping[str, object]]) -> list[ToolOutput | ToolError]:
        return answered_together(
            calls, request=_segmentation_request, find=segmenter.segment_batch, output=_segmentation_output
        )

    segment.batch = segment_many  # type: ignore[attr-defined]
    return tool_from(segment, deadline_s)


def _segmentation_request(
    image: Image.Image, bbox_2d: Box | None = None, points: Sequence[Point] | None = None
) -> SegmentationRequest:
    check_shape(image)
    if bbox_2d is None and not points:
        raise ToolError("neither bbox_2d nor points is given; show the thing by a box around it or by points on it")
    for number, point in enumerate(points or (), start=1):
        if not (0 <= point.x <= image.width and 0 <= point.y <= image.height):
            raise ToolError(f"point {number} of points lies outside the image; choose points on the thing")
    if points and len(points) > MAX_POINTS:
        raise ToolError(f"points has {len(points)} points; at most {MAX_POINTS} are taken")
    box = None if bbox_2d is None else _inside(bbox_2d, image)
    return SegmentationRequest(image=image, box=box, points=tuple(points or ()))


def _inside(box: Box, image: Image.Image) -> Box:
    if not box.is_ordered:
        raise ToolError("bbox_2d is empty or inverted; write left, top, right, bottom, so that x1 < x2 and y1 < y2")
    inside = box.clipped(image.width, image.height)
    if min(inside.width, inside.height) < 1:
        raise ToolError("bbox_2d covers less than a pixel of the image; choose a larger region inside it")
    return inside


def _segmentation_output(request: SegmentationRequest, found: Segmentation) -> ToolOutput:
    image, mask = request.image, found.mask
    region = mask.to_array()
    bounds = _bounds(region)
    data: dict[str, Json] = {"area_px": mask.area, "score": round(found.score, 4), "mask": _as_json(mask)}
    if bounds is None:
        return ToolOutput(text="found no region there; try another box or other points", data={**data, "box": None})
    share = mask.area / (mask.width * mask.height)
    text = (
        f"the region covers {100 * share:.1f} % of the image, within {in_thousandths(bounds, image)} {FRAME_NOTE}; "
        f"score {found.score:.2f}"
    )
    return ToolOutput(text=text, images=(_overlay(image, region),), data={**data, "box": list(bounds.as_tuple())})


def _bounds(region: NDArray[np.bool_]) -> Box | None:
    rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    if not len(rows):
        return None
    return Box(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))


def _overlay(image: Image.Image, region: NDArray[np.bool_]) -> Image.Image:
    """The picture with the region reddened."""
    colors = np.array(image.convert("RGB"))
    colors[region] = (colors[region].astype(np.uint16) + np.array(MARK, dtype=np.uint16)) // 2
    return bounded(Image.fromarray(colors), MAX_SIDE_PX)[0]


def _as_json(mask: Mask) -> Json:
    """Run lengths as COCO writes them: columns from left to right, beginning with what is outside."""
    if len(mask.counts) > MAX_COCO_RUNS:
        return None
    counts: Json = list(mask.counts) if len(mask.counts) <= MAX_RUNS else mask.to_coco()
    return {"size": [mask.height, mask.width], "counts": counts}
