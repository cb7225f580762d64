"""A canvas of any size that knows, pixel by pixel, which element it shows."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from saccade.geometry import Box, Point
from saccade.gym.rendering import SeenRegion
from saccade.tasks.drawing import BACKGROUND, INK, Colour, font, line_corners, opacity_of, text_box, unit_shape

NOTHING = 0
CROSS_INSET = 0.15
"""Of a cross' radius, the most that its edges are moved inwards: half as much as its arms are wide from the middle."""


def _inset_corners(name: str, radius: float, inset: float) -> list[tuple[float, float]]:
    """Corners of a shape around the origin, its edges moved inwards."""
    if name != "cross":
        # All edges are as far from the middle, so that a smaller shape has them moved by the same.
        radius -= inset * (2 if name in ("star", "triangle") else 1)
        return [(radius * x, radius * y) for x, y in unit_shape(name)]
    inset = min(inset, CROSS_INSET * radius)
    return [
        (math.copysign(radius * abs(x) - inset, x), math.copysign(radius * abs(y) - inset, y))
        for x, y in unit_shape(name)
    ]


class Painter:
    """A picture with a map of elements: what is painted later hides what lies under it, in both.

    ``element`` names what is painted; "" paints pixels that belong to no element (and hide what is there).
    """

    def __init__(self, width: int, height: int, ground: Colour | Image.Image = BACKGROUND) -> None:
        self.image = ground if isinstance(ground, Image.Image) else Image.new("RGB", (width, height), ground)
        self.width, self.height = width, height
        self._shown = np.zeros((height, width), dtype=np.uint16)
        self._numbers: dict[str, int] = {"": NOTHING}
        self._bounds: dict[str, tuple[int, int, int, int]] = {}

    def polygon(self, element: str, points: Sequence[Point], colour: Colour) -> None:
        """A filled polygon with smooth edges."""
        left, top, opacity = opacity_of(points, self.width, self.height)
        if not opacity.width or not opacity.height:
            return
        self.image.paste(colour, (left, top), opacity)
        self._stamp(element, left, top, np.asarray(opacity) >= 128)

    def shape(
        self,
        element: str,
        name: str,
        center: Point,
        radius: float,
        colour: Colour,
        turn: float = 0.0,
        inset: float = 0.0,
    ) -> None:
        """A shape of ``tasks/drawing.py`` in a circle of this radius, turned clockwise by so many degrees.

        ``inset`` moves its edges inwards by so many pixels.
        """
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        corners = [
            Point(center.x + x * cos - y * sin, center.y + x * sin + y * cos)
            for x, y in _inset_corners(name, radius, inset)
        ]
        self.polygon(element, corners, colour)

    def disc(self, element: str, center: Point, radius: float, colour: Colour) -> None:
        """A filled circle."""
        self.shape(element, "circle", center, radius, colour)

    def line(self, element: str, points: Sequence[Point], width: float, colour: Colour) -> None:
        """A run of straight pieces with square ends, joined by discs where it is wide."""
        for start, end in pairwise(points):
            if start != end:
                self.polygon(element, line_corners(start, end, width), colour)
        if width >= 3:
            for middle in points[1:-1]:
                self.disc(element, middle, width / 2, colour)

    def rectangle(self, element: str, box: Box, colour: Colour, border: int = 0) -> None:
        """A box with whole sides, filled; or, with a border, its frame of so many pixels alone."""
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        if not border:
            self.image.paste(colour, (x1, y1, x2, y2))
            self._stamp(element, x1, y1, np.ones((y2 - y1, x2 - x1), dtype=bool))
            return
        sides = (
            (x1, y1, x2, y1 + border),
            (x1, y2 - border, x2, y2),
            (x1, y1, x1 + border, y2),
            (x2 - border, y1, x2, y2),
        )
        for left, top, right, bottom in sides:
            self.rectangle(element, Box(left, top, right, bottom), colour)

    def text(
        self,
        element: str,
        words: str,
        at: Point,
        size: int,
        colour: Colour = INK,
        anchor: str = "mm",
        halo: Colour | None = None,
    ) -> Box:
        """A line of text; the box of its ink, which is the element's region with all between the letters.

        A halo is a line of two pixels around the letters, which keeps them apart from what lies below.
        """
        place, pen = (round(at.x), round(at.y)), ImageDraw.Draw(self.image)
        if halo is not None:
            pen.text(place, words, fill=halo, font=font(size), anchor=anchor, stroke_width=2, stroke_fill=halo)
        pen.text(place, words, fill=colour, font=font(size), anchor=anchor)
        box = text_box(words, at, size, anchor).clipped(self.width, self.height)
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        if element and x2 > x1 and y2 > y1:
            self._stamp(element, x1, y1, np.ones((y2 - y1, x2 - x1), dtype=bool))
        return box

    def pixels(self, element: str, left: int, top: int, block: NDArray[np.uint8]) -> None:
        """A block of RGB pixels, (height, width, 3), that lies inside the picture."""
        self.image.paste(Image.fromarray(block), (left, top))
        self._stamp(element, left, top, np.ones(block.shape[:2], dtype=bool))

    def regions(self, image_index: int = 0, least_px: int = 1) -> tuple[SeenRegion, ...]:
        """What is seen of every element that shows so many pixels at least, in the order in which they were painted."""
        found = []
        for element, (left, top, right, bottom) in self._bounds.items():
            cover = self._shown[top:bottom, left:right] == self._numbers[element]
            rows, columns = np.flatnonzero(cover.any(axis=1)), np.flatnonzero(cover.any(axis=0))
            if not len(rows) or int(cover.sum()) < least_px:
                continue
            y1, y2, x1, x2 = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
            seen = cover[y1:y2, x1:x2].copy()
            found.append(
                SeenRegion(
                    element=element,
                    box=Box(left + x1, top + y1, left + x2, top + y2),
                    cover=None if seen.all() else seen,
                    image_index=image_index,
                )
            )
        return tuple(found)

    def _stamp(self, element: str, left: int, top: int, cover: NDArray[np.bool_]) -> None:
        number = self._numbers.setdefault(element, len(self._numbers))
        bottom, right = top + cover.shape[0], left + cover.shape[1]
        self._shown[top:bottom, left:right][cover] = number
        if element:
            x1, y1, x2, y2 = self._bounds.get(element, (left, top, right, bottom))
            self._bounds[element] = (min(x1, left), min(y1, top), max(x2, right), max(y2, bottom))
