"""The canvas of drawn pictures, with the colours and the words that they use.

Every method of ``Canvas`` tells the pixels that it covered; ``scattered`` places shapes without touching each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from saccade.geometry import Box, Point
from saccade.tasks.scene import SIZE_PX

Colour = tuple[int, int, int]

BACKGROUND: Colour = (128, 128, 128)
"""Mid-grey: tiny models do not learn from bright backgrounds."""

INK: Colour = (12, 12, 12)
PAPER: Colour = (245, 245, 245)
FAINT: Colour = (104, 104, 104)

COLOURS: dict[str, Colour] = {
    "red": (205, 48, 48),
    "green": (48, 165, 60),
    "blue": (56, 80, 210),
    "yellow": (210, 200, 48),
    "orange": (211, 120, 44),
    "purple": (140, 52, 180),
    "cyan": (50, 190, 200),
    "pink": (211, 120, 180),
}
"""Every channel lies in 44..211, so that a texture of +-44 never clips. The first four are easy to tell."""

COLOUR_NAMES = tuple(COLOURS)

SHAPES = ("circle", "square", "triangle", "star", "cross", "diamond")

# The short words that drawn pictures carry; few, so that a tiny tokenizer learns them all.
ITEMS = ("tea", "milk", "rice", "soap", "salt", "fish", "eggs", "corn")
PEOPLE = ("Ann", "Bob", "Eva", "Ian", "Lea", "Max", "Tom", "Zoe")
PLACES = ("Oro", "Pim", "Vel", "Kas", "Lun", "Tor", "Mir", "Zed")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "May", "Jun", "Oct")
COLUMNS = ("price", "stock", "size", "sold")

OVERSAMPLING = 4
GAP_PX = 8
"""The least distance between the circles around two objects, and half of it to the border."""

Coverage = NDArray[np.bool_]
"""The pixels that a drawn thing covers at least half, boolean, (height, width)."""


class Canvas:
    """A square picture on mid-grey. Every method draws and tells what it covered."""

    def __init__(self, image: Image.Image | None = None) -> None:
        self.image = Image.new("RGB", (SIZE_PX, SIZE_PX), BACKGROUND) if image is None else image.copy()

    def polygon(self, points: Sequence[Point], colour: Colour) -> Coverage:
        """A filled polygon with smooth edges."""
        left, top, opacity = opacity_of(points, SIZE_PX, SIZE_PX)
        self.image.paste(colour, (left, top), opacity)
        covered = np.zeros((SIZE_PX, SIZE_PX), dtype=bool)
        covered[top : top + opacity.height, left : left + opacity.width] = np.asarray(opacity) >= 128
        return covered

    def shape(self, name: str, center: Point, radius: float, colour: Colour) -> Coverage:
        """One of ``SHAPES`` that fits in a circle of this radius."""
        corners = unit_shape(name)
        return self.polygon([Point(center.x + radius * x, center.y + radius * y) for x, y in corners], colour)

    def line(self, start: Point, end: Point, width: float, colour: Colour) -> Coverage:
        """A straight line with square ends."""
        return self.polygon(line_corners(start, end, width), colour)

    def wedge(self, center: Point, radius: float, start: float, end: float, colour: Colour) -> Coverage:
        """A slice of a disc between two angles in degrees, from the x axis towards the y axis (clockwise)."""
        steps = max(2, math.ceil((end - start) / 3))
        arc = [on_circle(center, radius, start + (end - start) * i / steps) for i in range(steps + 1)]
        return self.polygon([center, *arc], colour)

    def rectangle(self, box: Box, colour: Colour) -> None:
        """Fill a box with whole coordinates."""
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        self.image.paste(colour, (x1, y1, x2, y2))

    def text(self, words: str, at: Point, size: int, colour: Colour = INK, anchor: str = "mm") -> Box:
        """Write a line of text; the box of its ink. ``anchor`` is Pillow's: which part of the text is ``at``."""
        place = (round(at.x), round(at.y))
        ImageDraw.Draw(self.image).text(place, words, fill=colour, font=font(size), anchor=anchor)
        return text_box(words, at, size, anchor)


def opacity_of(points: Sequence[Point], width: int, height: int) -> tuple[int, int, Image.Image]:
    """How much of each pixel a polygon covers, 0 to 255, where it lies in a picture of this size: left, top, values."""
    # Work only where the polygon is: oversampling the whole picture would cost a millisecond each time.
    left = max(0, math.floor(min(point.x for point in points)))
    top = max(0, math.floor(min(point.y for point in points)))
    right = max(left, min(width, math.ceil(max(point.x for point in points))))
    bottom = max(top, min(height, math.ceil(max(point.y for point in points))))
    fine = Image.new("L", ((right - left) * OVERSAMPLING, (bottom - top) * OVERSAMPLING))
    corners = [((point.x - left) * OVERSAMPLING - 0.5, (point.y - top) * OVERSAMPLING - 0.5) for point in points]
    ImageDraw.Draw(fine).polygon(corners, fill=255)
    return left, top, fine.reduce(OVERSAMPLING) if fine.width and fine.height else fine


def line_corners(start: Point, end: Point, width: float) -> list[Point]:
    """The corners of a straight line with square ends; the points must differ."""
    length = math.hypot(end.x - start.x, end.y - start.y)
    x, y = (end.y - start.y) / length * width / 2, (start.x - end.x) / length * width / 2
    return [
        Point(start.x + x, start.y + y),
        Point(end.x + x, end.y + y),
        Point(end.x - x, end.y - y),
        Point(start.x - x, start.y - y),
    ]


def text_box(words: str, at: Point, size: int, anchor: str = "mm") -> Box:
    """Where text would be written, in whole pixels."""
    left, top, right, bottom = font(size).getbbox(words, anchor=anchor)
    x, y = round(at.x), round(at.y)
    return Box(x + math.floor(left), y + math.floor(top), x + math.ceil(right), y + math.ceil(bottom))


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font, laid out by Pillow itself, so that every machine draws the same pixels."""
    default = ImageFont.load_default(size=size)
    assert isinstance(default, ImageFont.FreeTypeFont)  # always, when a size is given
    return default.font_variant(layout_engine=ImageFont.Layout.BASIC)


def on_circle(center: Point, radius: float, degrees: float) -> Point:
    """The point at this distance and direction; degrees from the x axis towards the y axis (clockwise)."""
    angle = math.radians(degrees)
    return Point(center.x + radius * math.cos(angle), center.y + radius * math.sin(angle))


@cache
def unit_shape(name: str) -> tuple[tuple[float, float], ...]:
    """Corners of a shape inside the circle of radius 1 around the origin."""
    if name == "square":
        side = 0.78
        return ((-side, -side), (side, -side), (side, side), (-side, side))
    if name == "cross":
        arm, thick = 0.95, 0.3
        corner = ((thick, arm), (thick, thick), (arm, thick))
        quarter = [(x, y) for x, y in corner]
        turned = [(x, -y) for x, y in reversed(quarter)]
        half = quarter + turned
        return tuple(half + [(-x, -y) for x, y in half])
    radii = {"circle": (1.0,) * 40, "triangle": (1.0,) * 3, "diamond": (1.0,) * 4, "star": (1.0, 0.42) * 5}[name]
    turn = 2 * math.pi / len(radii)
    return tuple((r * math.sin(i * turn), -r * math.cos(i * turn)) for i, r in enumerate(radii))


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A coloured shape to draw."""

    colour: str
    shape: str
    center: Point
    radius: float

    @property
    def name(self) -> str:
        return f"{self.colour} {self.shape}"

    def draw(self, canvas: Canvas) -> Coverage:
        return canvas.shape(self.shape, self.center, self.radius, COLOURS[self.colour])


def scattered(rng: Generator, count: int, radius: float) -> list[Point]:
    """Centres with whole coordinates for circles of this radius, in random order, at least ``GAP_PX`` apart.

    Each lies in a random cell of a grid, shifted as far as the cell allows; about half of the cells stay empty
    where there is room for that. ``ValueError`` when the circles do not fit.
    """
    finest = math.floor(SIZE_PX / (2 * radius + GAP_PX))
    if count > finest**2:
        raise ValueError(f"{count} circles of radius {radius} px do not fit; use fewer or smaller ones")
    cells_per_side = min(finest, math.ceil(math.sqrt(2 * count)))
    cell_px = SIZE_PX / cells_per_side
    slack = math.floor((cell_px - 2 * radius - GAP_PX) / 2)
    centers = []
    for cell in rng.permutation(cells_per_side**2)[:count]:
        row, column = divmod(int(cell), cells_per_side)
        shift_x, shift_y = (int(shift) for shift in rng.integers(-slack, slack + 1, size=2))
        centers.append(
            Point(math.floor((column + 0.5) * cell_px) + shift_x, math.floor((row + 0.5) * cell_px) + shift_y)
        )
    return centers
