"""Image tools: crop, zoom, rotate, flip, contrast, drawn marks, measurement.

Coordinates arrive in pixels of the original image, converted from the model's frame at the protocol's edge, and the
pixels are taken from the original. Errors name no coordinates, because the model writes them in its own frame.
A picture whose longer side would be over ``MAX_SIDE_PX`` is shrunk and the text says so.
"""

import math
from typing import Annotated, Literal

from PIL import Image, ImageDraw, ImageEnhance

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.pictures import bounded
from saccade.tools.tool import ToolOutput, tool_from
from saccade.types import Json

MIN_SIDE_PX = 4
"""Least side of a region: less shows nothing."""

MAX_ASPECT_RATIO = 100.0
"""Aspect ratio of a region, longer to shorter side; model families refuse views of more than 200."""

MAX_SIDE_PX = 4096
MAX_ZOOMED_SIDE_PX = 2048

GREY = (128, 128, 128)
MARK = (255, 0, 0)
MARK_EDGE = (255, 255, 255)

# Outward rounding that forgives the noise of a conversion there and back.
_ROUNDING = 1e-6


def crop(image: Image.Image, bbox_2d: Annotated[Box, "the region to cut out: left, top, right, bottom"]) -> ToolOutput:
    """Cut out a region of an image at its full resolution, to see small details."""
    region, note = _region(image, bbox_2d)
    picture, shrunk = bounded(image.crop(region), MAX_SIDE_PX)
    return _picture(picture, f"the region, {_size(region)} of the original{shrunk}{note}", region)


def zoom(image: Image.Image, bbox_2d: Annotated[Box, "the region to enlarge: left, top, right, bottom"]) -> ToolOutput:
    """Enlarge a region of an image until its longer side is as long as the whole image's."""
    region, note = _region(image, bbox_2d)
    width, height = region[2] - region[0], region[3] - region[1]
    side = max(max(width, height), min(max(image.size), MAX_ZOOMED_SIDE_PX))
    scale = side / max(width, height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    enlarged = image.resize(size, Image.Resampling.BICUBIC, box=region)
    picture, shrunk = bounded(enlarged, MAX_SIDE_PX)
    text = f"the region, {_size(region)} of the original, enlarged {scale:.3g} times{shrunk}{note}"
    return _picture(picture, text, region)


def rotate(image: Image.Image, degrees: Annotated[float, "anticlockwise, from -360 to 360"]) -> ToolOutput:
    """Turn an image anticlockwise; the corners are filled with grey and nothing is cut off."""
    if not -360 <= degrees <= 360:
        raise ToolError("degrees must be from -360 to 360")
    # A turned picture needs up to the diagonal, so room is made before.
    picture, note = bounded(image, round(MAX_SIDE_PX / math.sqrt(2)))
    turned = picture.rotate(degrees, resample=Image.Resampling.BICUBIC, expand=True, fillcolor=GREY)
    return ToolOutput(text=f"turned by {degrees:g} degrees anticlockwise{note}", images=(turned,))


def flip(
    image: Image.Image, direction: Annotated[Literal["horizontal", "vertical"], "horizontal swaps left and right"]
) -> ToolOutput:
    """Mirror an image, for instance to read mirrored writing."""
    method = Image.Transpose.FLIP_LEFT_RIGHT if direction == "horizontal" else Image.Transpose.FLIP_TOP_BOTTOM
    sides = "left and right" if direction == "horizontal" else "top and bottom"
    picture, note = bounded(image, MAX_SIDE_PX)
    return ToolOutput(text=f"{sides} swapped{note}", images=(picture.transpose(method),))


def contrast(
    image: Image.Image, factor: Annotated[float, "above 1 for more contrast, below 1 for less, from 0.1 to 10"]
) -> ToolOutput:
    """Change the contrast of an image, to see faint or glaring details."""
    if not 0.1 <= factor <= 10:
        raise ToolError("factor must be from 0.1 to 10")
    picture, note = bounded(image, MAX_SIDE_PX)
    changed = ImageEnhance.Contrast(picture).enhance(factor)
    return ToolOutput(text=f"contrast changed {factor:g} times{note}", images=(changed,))


def draw_boxes(image: Image.Image, boxes: Annotated[list[Box], "what to frame"]) -> ToolOutput:
    """Draw numbered red frames on a copy of an image, to check or to compare places."""
    for number, box in enumerate(boxes, start=1):
        _check_ordered(box, f"boxes: box {number}")
        if not _overlaps(box, image):
            raise ToolError(f"boxes: box {number} lies wholly outside the image")
    picture, scale = _canvas(image)
    draw = ImageDraw.Draw(picture)
    width = _line_width(picture)
    for number, box in enumerate(boxes, start=1):
        inside = box.clipped(image.width, image.height)
        left, top = inside.x1 * scale, inside.y1 * scale
        right, bottom = max(left, inside.x2 * scale - 1), max(top, inside.y2 * scale - 1)
        draw.rectangle((left, top, right, bottom), outline=MARK, width=width)
        _label(draw, (left + width, top + width), number)
    return ToolOutput(text=f"{len(boxes)} drawn", images=(picture,))


def draw_points(image: Image.Image, points: Annotated[list[Point], "what to mark"]) -> ToolOutput:
    """Draw numbered red dots on a copy of an image, to count or to compare places."""
    for number, point in enumerate(points, start=1):
        _check_inside(point, image, f"points: point {number}")
    picture, scale = _canvas(image)
    draw = ImageDraw.Draw(picture)
    radius = 2 * _line_width(picture)
    for number, point in enumerate(points, start=1):
        x, y = point.x * scale, point.y * scale
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=MARK, outline=MARK_EDGE)
        _label(draw, (x + radius, y + radius), number)
    return ToolOutput(text=f"{len(points)} drawn", images=(picture,))


def measure(
    image: Image.Image, start: Annotated[Point, "where the line begins"], end: Annotated[Point, "where it ends"]
) -> ToolOutput:
    """Measure a line between two points: its length in pixels of the original image, its angle (0 right, 90 up).

    The angle is in degrees, from -180 (excluded) to 180. The data are exact, the text is rounded.
    """
    _check_inside(start, image, "start")
    _check_inside(end, image, "end")
    across, up = end.x - start.x, start.y - end.y
    distance = math.hypot(across, up)
    if distance == 0.0:
        raise ToolError("start and end are the same point; a line needs two")
    angle = math.degrees(math.atan2(up, across))
    text = f"{distance:.1f} px, {angle:.1f} degrees"
    return ToolOutput(text=text, data={"distance_px": distance, "angle_degrees": angle})


IMAGE_TOOLS = tuple(tool_from(f) for f in (crop, zoom, rotate, flip, contrast, draw_boxes, draw_points, measure))


def _region(image: Image.Image, box: Box) -> tuple[tuple[int, int, int, int], str]:
    """The whole pixels that the box touches inside the image, and a note when the box was clipped."""
    _check_ordered(box, "bbox_2d")
    if not _overlaps(box, image):
        raise ToolError("bbox_2d lies wholly outside the image; choose a region inside it")
    inside = box.clipped(image.width, image.height)
    left, top = math.floor(inside.x1 + _ROUNDING), math.floor(inside.y1 + _ROUNDING)
    right, bottom = math.ceil(inside.x2 - _ROUNDING), math.ceil(inside.y2 - _ROUNDING)
    width, height = right - left, bottom - top
    if min(width, height) < MIN_SIDE_PX:
        raise ToolError(
            f"bbox_2d covers only {width} x {height} px of the original; each side must have at least "
            f"{MIN_SIDE_PX}, so choose a larger region"
        )
    if max(width, height) > MAX_ASPECT_RATIO * min(width, height):
        raise ToolError(
            f"bbox_2d is more than {MAX_ASPECT_RATIO:.0f} times longer than wide; choose a more compact region"
        )
    is_clipped = max(abs(a - b) for a, b in zip(inside.as_tuple(), box.as_tuple())) > _ROUNDING
    return (left, top, right, bottom), " (bbox_2d reached outside the image and was clipped)" if is_clipped else ""


def _check_ordered(box: Box, name: str) -> None:
    if box.x1 == box.x2 or box.y1 == box.y2:
        raise ToolError(f"{name} is empty; x1 must be less than x2 and y1 less than y2")
    if not box.is_ordered:
        raise ToolError(f"{name} is inverted; write left, top, right, bottom, so that x1 < x2 and y1 < y2")


def _overlaps(box: Box, image: Image.Image) -> bool:
    return box.x1 < image.width and box.y1 < image.height and box.x2 > 0 and box.y2 > 0


def _check_inside(point: Point, image: Image.Image, name: str) -> None:
    # The far edges count as inside: a model's frame includes them.
    if not (0 <= point.x <= image.width and 0 <= point.y <= image.height):
        raise ToolError(f"{name} lies outside the image; choose a point inside it")


def _picture(picture: Image.Image, text: str, region: tuple[int, int, int, int]) -> ToolOutput:
    data: dict[str, Json] = {"box": list(region), "size": list(picture.size)}
    return ToolOutput(text=text, images=(picture,), data=data)


def _size(region: tuple[int, int, int, int]) -> str:
    return f"{region[2] - region[0]} x {region[3] - region[1]} px"


def _canvas(image: Image.Image) -> tuple[Image.Image, float]:
    """A copy to draw on, and its scale."""
    canvas, _ = bounded(image, MAX_SIDE_PX)
    return (canvas.copy() if canvas is image else canvas), canvas.width / image.width


def _line_width(picture: Image.Image) -> int:
    return max(1, round(max(picture.size) / 300))


def _label(draw: ImageDraw.ImageDraw, corner: tuple[float, float], number: int) -> None:
    draw.text(corner, str(number), fill=MARK, stroke_width=1, stroke_fill=MARK_EDGE)
