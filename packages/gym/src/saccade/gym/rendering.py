"""Pictures of a state with the exact region of every element, and the looks that make them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box, Mask, Point
from saccade.gym.levels import Levels
from saccade.gym.state import SceneState
from saccade.types import Target


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRegion:
    """Where an element is seen in a picture."""

    element: str
    box: Box
    """Whole pixels, inside the picture."""
    cover: NDArray[np.bool_] | None = None
    """The visible pixels inside the box, boolean (height, width) of the box; None: all of it."""
    image_index: int = 0

    def mask(self, width: int, height: int) -> Mask:
        """Its pixels in a picture of this size."""
        if self.cover is None:
            return Mask.from_box(self.box, width, height)
        x1, y1, x2, y2 = (int(side) for side in self.box.as_tuple())
        columns = np.zeros((height, x2 - x1), dtype=bool)
        columns[y1:y2] = self.cover
        counts = list(Mask.from_array(columns).counts)
        counts[0] += x1 * height
        if x2 < width:
            rest = (width - x2) * height
            counts = [*counts, rest] if len(counts) % 2 == 0 else [*counts[:-1], counts[-1] + rest]
        return Mask(width=width, height=height, counts=tuple(counts))

    def point(self) -> Point:
        """The pixel of it that is nearest to the middle of its pixels."""
        if self.cover is None:
            return self.box.center
        rows, columns = np.divmod(np.flatnonzero(self.cover), self.cover.shape[1])
        nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
        return Point(self.box.x1 + int(columns[nearest]) + 0.5, self.box.y1 + int(rows[nearest]) + 0.5)

    def target(self, label: str, size: tuple[int, int]) -> Target:
        """The region as a task's target; ``size`` is the picture's width and height."""
        return Target(
            label=label, box=self.box, point=self.point(), mask=self.mask(*size), image_index=self.image_index
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendering:
    """Pictures of a state, RGB, and what they show where."""

    images: tuple[Image.Image, ...]
    regions: tuple[SeenRegion, ...]
    """In any order; an element that is hidden has none, one that several views show has one in each."""
    depths: tuple[NDArray[np.float32], ...] = ()
    """Distance of every pixel, (height, width), for each picture; empty where the look knows none."""
    frame_times_s: tuple[float, ...] = ()
    """The time of each picture, where they are the frames of a video."""

    def of(self, element: str) -> tuple[SeenRegion, ...]:
        """All regions of an element."""
        return tuple(region for region in self.regions if region.element == element)


def regions_of(shown: NDArray[np.int32], elements: Sequence[str], image_index: int = 0) -> tuple[SeenRegion, ...]:
    """Regions in a map (height, width) of numbers: 0 is nothing, n the n-th element."""
    count = len(elements) + 1
    places = np.flatnonzero(shown)
    numbers = shown.ravel()[places].astype(np.int64)
    rows, columns = np.divmod(places, shown.shape[1])
    top, bottom = _first_and_last(rows, numbers, shown.shape[0], count)
    left, right = _first_and_last(columns, numbers, shown.shape[1], count)
    found = []
    for number in range(1, count):
        if bottom[number] < 0:
            continue
        y1, y2, x1, x2 = (int(side[number]) for side in (top, bottom, left, right))
        y2, x2 = y2 + 1, x2 + 1
        cover = shown[y1:y2, x1:x2] == number
        found.append(
            SeenRegion(
                element=elements[number - 1],
                box=Box(x1, y1, x2, y2),
                cover=None if cover.all() else cover,
                image_index=image_index,
            )
        )
    return tuple(found)


def _first_and_last(
    lines: NDArray[np.int64], numbers: NDArray[np.int64], length: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last line in which each number stands, of so many; -1 for one that does not."""
    flat = np.zeros(length * count, dtype=bool)
    flat[lines * count + numbers] = True
    there = flat.reshape(length, count)
    is_there = there.any(axis=0)
    return np.where(is_there, there.argmax(axis=0), -1), np.where(is_there, length - 1 - there[::-1].argmax(axis=0), -1)


RenderFunction = Callable[[SceneState, Generator, Levels], Rendering]
"""Draws pictures of a state. It may take chance for what means nothing (noise, a tint), never for the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Renderer:
    """A way to draw a state."""

    name: str
    render: RenderFunction
    axes: tuple[str, ...] = ()
    """Axes of difficulty that it reads."""
    extra: str = ""
    """The extra that it needs."""
    modules: tuple[str, ...] = ()
    """The modules of it that must be there; they are imported inside ``render`` alone."""
    has_flat_colours: bool = False
    """Whether things have the exact colours of ``tasks/drawing.py``, which experts' code looks for."""
