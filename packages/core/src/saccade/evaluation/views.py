"""Views for a second look at an image: a crop around each box that was named, and one crop around them all.

Crops are taken from the original, at its full resolution, in the order in which their boxes were written:

===================================================  ==============================================================
a box                                                what becomes of it
===================================================  ==============================================================
unreadable, inverted, empty, outside of the image    no crop, and the union does not count it
partly outside                                       clipped to the image
with ``padding``                                     grown by that share of its sides, then clipped
with corners between pixels                          every pixel that it touches
a side below ``min_side_px``, or too long and thin   grown around its centre, moved into the image where it must be
nearly a crop before it, nearly the whole image      no crop: the picture would be shown twice
one more than ``max_crops``                          no crop; the union counts it
===================================================  ==============================================================

The union is the smallest box around all boxes that count, treated as a box. It is left out where it is nearly a crop
that is shown, or nearly the whole image.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from saccade.codec.bounds import Bounds, Positive, check_bounds
from saccade.geometry import Box, enclosing_box, iou
from saccade.media.store import MediaStore
from saccade.pictures import bounded
from saccade.tools.images import MAX_ASPECT_RATIO, MAX_SIDE_PX
from saccade.types import ImageRef

ViewKind = Literal["crop", "union"]

# Outward rounding that forgives the noise of a conversion there and back.
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class CropSettings:
    """How boxes become crops."""

    padding: Annotated[float, Bounds(least=0, most=10)] = 0.0
    """Padding on each side, as a share of the box's width or height; the paper has none."""
    min_side_px: Positive = 28
    """Least side of a crop, in pixels of the original: one image token of Qwen2.5-VL."""
    max_crops: Positive = 8
    """Maximum number of crops; each costs as many tokens as an image of its size."""
    same_iou: Annotated[float, Bounds(above=0, most=1)] = 0.9
    """Two regions with at least this intersection over union are one."""

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Views:
    """The views shown beside the original; without crops and union there is no second look."""

    crops: bool = True
    union: bool = True
    cut: CropSettings = CropSettings()

    @property
    def is_any(self) -> bool:
        return self.crops or self.union


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A region of an image as a picture of its own."""

    kind: ViewKind
    box: Box
    """Whole pixels of the original."""
    image: ImageRef


def cut_views(image: ImageRef, boxes: Sequence[Box], views: Views, media: MediaStore) -> tuple[View, ...]:
    """The crops of an image, then the union; they are added to ``media``.

    One whose longer side is over 4096 px is shrunk to that, as by the crop tool.
    """
    regions = view_regions(boxes, image.width, image.height, views)
    original = media.get(image) if regions else None
    cut = []
    for kind, box in regions:
        assert original is not None
        picture, _ = bounded(original.crop(_corners(box)), MAX_SIDE_PX)
        cut.append(View(kind=kind, box=box, image=media.add(picture)))
    return tuple(cut)


def view_regions(boxes: Sequence[Box], width: int, height: int, views: Views) -> list[tuple[ViewKind, Box]]:
    """Which regions of an image of this size are shown, in whole pixels, by the table above."""
    cut = views.cut
    inside = [box for box in (box.clipped(width, height) for box in boxes) if box.is_ordered]
    shown = [Box(0, 0, width, height)]
    regions: list[tuple[ViewKind, Box]] = []
    if views.crops:
        for box in inside:
            region = _region(box, width, height, cut)
            if len(regions) < cut.max_crops and not _is_among(region, shown, cut.same_iou):
                shown.append(region)
                regions.append(("crop", region))
    if views.union and inside:
        union = _region(enclosing_box(inside), width, height, cut)
        if not _is_among(union, shown, cut.same_iou):
            regions.append(("union", union))
    return regions


def _is_among(region: Box, shown: Sequence[Box], same_iou: float) -> bool:
    return any(iou(region, other) >= same_iou for other in shown)


def _region(inside: Box, width: int, height: int, cut: CropSettings) -> Box:
    """The pixels to cut out for a box that lies inside the image."""
    across, down = cut.padding * inside.width, cut.padding * inside.height
    padded = Box(inside.x1 - across, inside.y1 - down, inside.x2 + across, inside.y2 + down).clipped(width, height)
    left, right = math.floor(padded.x1 + _ROUNDING), math.ceil(padded.x2 - _ROUNDING)
    top, bottom = math.floor(padded.y1 + _ROUNDING), math.ceil(padded.y2 - _ROUNDING)
    # Model families refuse pictures that are too long and thin.
    least = max(cut.min_side_px, math.ceil(max(right - left, bottom - top) / MAX_ASPECT_RATIO))
    left, right = _grown(left, right, least, width)
    top, bottom = _grown(top, bottom, least, height)
    return Box(left, top, right, bottom)


def _grown(start: int, end: int, least: int, limit: int) -> tuple[int, int]:
    """At least so long around the same centre, as far as 0 to ``limit`` has room."""
    least = min(least, limit)
    if end - start >= least:
        return start, end
    start = min(max((start + end - least) // 2, 0), limit - least)
    return start, start + least


def _corners(box: Box) -> tuple[int, int, int, int]:
    return (int(box.x1), int(box.y1), int(box.x2), int(box.y2))
