"""Boxes, points, masks, and the frames in which a model writes them.

Inside Saccade every coordinate is in pixels of the original image: x to the right, y down, (0, 0) the top left
corner of the top left pixel. A ``Frame`` converts at the protocol's edge to what a model family writes.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

CoordinateConvention = Literal["absolute", "relative_1000"]
"""``absolute``: pixels of the resized view (Qwen2.5-VL). ``relative_1000``: 0-1000 in each direction (Qwen3-VL,
InternVL3)."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point in pixels of the original image."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-parallel rectangle, left-top to right-bottom, in pixels of the original image."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        return self.x2 - self.x1

    @property
    def height(self) -> float:
        return self.y2 - self.y1

    @property
    def area(self) -> float:
        """Zero when the box is empty or inverted."""
        return max(0.0, self.width) * max(0.0, self.height)

    @property
    def center(self) -> Point:
        return Point((self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2)

    @property
    def is_ordered(self) -> bool:
        """Whether left < right and top < bottom, so that the box has an area."""
        return self.x1 < self.x2 and self.y1 < self.y2

    def contains(self, point: Point) -> bool:
        return self.x1 <= point.x < self.x2 and self.y1 <= point.y < self.y2

    def clipped(self, width: float, height: float) -> "Box":
        """The part of the box inside an image of this size; may be empty."""
        return Box(
            min(max(self.x1, 0.0), width),
            min(max(self.y1, 0.0), height),
            min(max(self.x2, 0.0), width),
            min(max(self.y2, 0.0), height),
        )

    def as_tuple(self) -> tuple[float, float, float, float]:
        return (self.x1, self.y1, self.x2, self.y2)


def iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes in the same frame; 0.0 when they do not touch or one is empty."""
    intersection = Box(max(a.x1, b.x1), max(a.y1, b.y1), min(a.x2, b.x2), min(a.y2, b.y2))
    shared = intersection.area if intersection.is_ordered else 0.0
    union = a.area + b.area - shared
    return shared / union if union > 0 else 0.0


def enclosing_box(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds all of them."""
    if not boxes:
        raise ValueError("no box to enclose; pass at least one")
    return Box(
        min(box.x1 for box in boxes),
        min(box.y1 for box in boxes),
        max(box.x2 for box in boxes),
        max(box.y2 for box in boxes),
    )


@dataclass(frozen=True, slots=True)
class Mask:
    """A binary mask as run lengths in column-major order, starting with zeros (COCO's uncompressed RLE)."""

    width: int
    height: int
    counts: tuple[int, ...]

    @classmethod
    def from_array(cls, array: NDArray[np.bool_]) -> "Mask":
        """From a boolean array of shape (height, width)."""
        flat = np.asarray(array, dtype=bool).ravel(order="F")
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        edges = np.concatenate([[0], changes, [flat.size]])
        counts = np.diff(edges).tolist()
        if flat.size and flat[0]:
            counts = [0, *counts]
        return cls(width=array.shape[1], height=array.shape[0], counts=tuple(counts))

    @classmethod
    def from_box(cls, box: "Box", width: int, height: int) -> "Mask":
        """The pixels of a picture whose corner (x, y) lies in the box, without drawing it."""
        inside = box.clipped(width, height)
        x1, y1, x2, y2 = (math.ceil(side) for side in inside.as_tuple())
        wide, tall = x2 - x1, y2 - y1
        if wide <= 0 or tall <= 0:
            return cls(width=width, height=height, counts=(width * height,))
        if tall == height:
            counts = [x1 * height, wide * height, (width - x2) * height]
        else:
            after = (height - y2) + (width - x2) * height
            counts = [x1 * height + y1, *([tall, height - tall] * (wide - 1)), tall, after]
        return cls(width=width, height=height, counts=tuple(counts if counts[-1] else counts[:-1]))

    def to_array(self) -> NDArray[np.bool_]:
        """A boolean array of shape (height, width)."""
        values = np.arange(len(self.counts)) % 2 == 1
        return np.repeat(values, self.counts).reshape((self.height, self.width), order="F")

    @classmethod
    def from_coco(cls, text: str, width: int, height: int) -> "Mask":
        """From COCO's compressed run lengths, as ``pycocotools`` writes them; ValueError for other text.

        Each run is a number in groups of five bits, lowest first, with the sixth bit set where more follow; from the
        fourth on it is the difference to the run two before.
        """
        counts: list[int] = []
        value = shift = 0
        for character in text:
            bits = ord(character) - 48
            if not 0 <= bits < 64 or shift > 30:
                raise ValueError(f"{character!r} is no part of COCO's compressed run lengths")
            value |= (bits & 0x1F) << shift
            shift += 5
            if bits & 0x20:
                continue
            if bits & 0x10:
                value -= 1 << shift
            counts.append(value + counts[-2] if len(counts) > 2 else value)
            value = shift = 0
        if shift or min(counts, default=0) < 0 or sum(counts) != width * height:
            raise ValueError(f"run lengths of {sum(counts)} pixels are no mask of {width} x {height}")
        return cls(width=width, height=height, counts=tuple(counts))

    def to_coco(self) -> str:
        """COCO's compressed run lengths; the inverse of ``from_coco``."""
        written = []
        for place, count in enumerate(self.counts):
            value = count - self.counts[place - 2] if place > 2 else count
            more = True
            while more:
                bits, value = value & 0x1F, value >> 5
                more = value != (-1 if bits & 0x10 else 0)
                written.append(chr(bits + 48 + (0x20 if more else 0)))
        return "".join(written)

    def contains(self, point: Point) -> bool:
        x, y = int(np.floor(point.x)), int(np.floor(point.y))
        if not (0 <= x < self.width and 0 <= y < self.height):
            return False
        return bisect_right(list(accumulate(self.counts)), x * self.height + y) % 2 == 1

    @property
    def area(self) -> int:
        return sum(self.counts[1::2])

    def iou(self, other: "Mask") -> float:
        """Intersection over union of two masks of one picture, without drawing them; 0.0 where both are empty."""
        ends = np.cumsum(other.counts)
        before = np.concatenate([[0], np.cumsum(np.where(np.arange(len(self.counts)) % 2, self.counts, 0))])
        # So many pixels of this mask lie before each end of a run of the other one.
        covered = np.interp(ends, np.concatenate([[0], np.cumsum(self.counts)]), before)
        both = float(np.diff(covered)[::2].sum())
        union = self.area + other.area - both
        return both / union if union else 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """How one model family writes coordinates on one image: its original size, the view's size, the convention."""

    width: int
    height: int
    view_width: int
    view_height: int
    convention: CoordinateConvention

    def _scale(self) -> tuple[float, float]:
        if self.convention == "relative_1000":
            return self.width / 1000, self.height / 1000
        return self.width / self.view_width, self.height / self.view_height

    def box_to_original(self, box: Box) -> Box:
        """From what the model wrote to pixels of the original image; not clipped."""
        sx, sy = self._scale()
        return Box(box.x1 * sx, box.y1 * sy, box.x2 * sx, box.y2 * sy)

    def box_to_model(self, box: Box) -> Box:
        """From pixels of the original image to whole numbers that the model would write."""
        sx, sy = self._scale()
        return Box(round(box.x1 / sx), round(box.y1 / sy), round(box.x2 / sx), round(box.y2 / sy))

    def point_to_original(self, point: Point) -> Point:
        sx, sy = self._scale()
        return Point(point.x * sx, point.y * sy)

    def point_to_model(self, point: Point) -> Point:
        sx, sy = self._scale()
        return Point(round(point.x / sx), round(point.y / sy))
