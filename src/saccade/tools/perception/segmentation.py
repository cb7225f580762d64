"""The tool ``segment``: the exact region of a thing that a box or points show."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Mask, Point
from saccade.pictures import bounded
from saccade.tools.images import MARK, MAX_SIDE_PX
from saccade.tools.perception.detection import FRAME_NOTE, check_shape, in_thousandths
from saccade.tools.perception.together import answered_together
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json
from saccade.vision_models.requests import Segmentation, SegmentationRequest, Segmenter

DEADLINE_S = 60.0
MAX_POINTS = 16
MAX_RUNS = 20_000
"""Runs of a mask among the data; a raggeder one is left out."""


def segmentation_tool(segmenter: Segmenter, *, deadline_s: float = DEADLINE_S) -> Tool:
    """``segment`` over a segmenter; its function also takes many calls at once, as its attribute ``batch``."""

    def segment(
        image: Image.Image,
        bbox_2d: Annotated[Box | None, "a box around the thing: left, top, right, bottom"] = None,
        points: Annotated[list[Point] | None, f"points on the thing, at most {MAX_POINTS}"] = None,
    ) -> ToolOutput:
        """Find the exact outline of a thing that a box or points show: its area, bounds and a picture of it."""
        request = _request(image, bbox_2d, points)
        return _output(request, segmenter.segment_batch([request])[0])

    def segment_many(calls: Sequence[Mapping[str, object]]) -> list[ToolOutput | ToolError]:
        return answered_together(calls, request=_request, find=segmenter.segment_batch, output=_output)

    segment.batch = segment_many  # type: ignore[attr-defined]
    return tool_from(segment, deadline_s)


def _request(
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


def _output(request: SegmentationRequest, found: Segmentation) -> ToolOutput:
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
    """Run lengths as COCO writes them, uncompressed: columns from left to right, beginning with what is outside."""
    if len(mask.counts) > MAX_RUNS:
        return None
    return {"size": [mask.height, mask.width], "counts": list(mask.counts)}
