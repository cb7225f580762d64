"""Lines of text as quadrilaterals: which way they run, their pixels set upright, their places on the page set upright.

Angles are in degrees, clockwise as a viewer sees them: 0 runs to the right, 90 down, -90 up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box

STRAIGHT_DEGREES = 0.75
"""A page that is turned by less counts as upright."""

SLANT_SHARE = 0.15
"""Share of a line's height: a line whose upright box is higher by more has to be cut out along its slant."""

MIN_UPRIGHT_PX = 32
MIN_UPRIGHT_SHARE = 1.5
"""A line higher than this and than so many times its width runs up or down; it is no letter."""

_MARGIN_ALONG_PX = 2.0
_MARGIN_ACROSS_PX = 1.0

Corners = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quad:
    """A line's corners in the order of its writing: where it begins above, ends above, ends below, begins below."""

    corners: Corners
    """Corners of shape (4, 2), in pixels."""

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.corners[1] - self.corners[0]))

    @property
    def height(self) -> float:
        return float(np.linalg.norm(self.corners[3] - self.corners[0]))

    @property
    def angle(self) -> float:
        """From -180 to 180."""
        x, y = self.corners[1] - self.corners[0]
        return math.degrees(math.atan2(y, x))

    @property
    def hull(self) -> Box:
        """The upright box around it."""
        return _around(self.corners)

    @property
    def is_slanted(self) -> bool:
        hull = self.hull
        across = min(abs(_off(self.angle, 0)), abs(_off(self.angle, 180)))
        is_level = across < abs(_off(across, 90))
        thickness = hull.height if is_level else hull.width
        return thickness > (1 + SLANT_SHARE) * self.height

    def flipped(self) -> "Quad":
        """The same place, written the other way round."""
        return Quad(np.roll(self.corners, 2, axis=0))

    def part(self, start: float, end: float) -> "Quad":
        """The piece between two shares of its length."""
        first, second, third, fourth = self.corners
        above, below = second - first, third - fourth
        return Quad(
            np.stack([first + start * above, first + end * above, fourth + end * below, fourth + start * below])
        )

    def scaled(self, factor: float) -> "Quad":
        return Quad(self.corners * factor)


def quad_of(points: Sequence[Sequence[float]], page: float = 0.0) -> Quad:
    """The quadrilateral of four corners in any order around it.

    It runs along its longer side, to the right, or upwards where that side stands upright. A short one may be a letter
    or two, and runs as the page does.
    """
    corners = np.asarray(points, dtype=float)
    if _turn(corners) < 0:
        corners = corners[::-1]
    quad = Quad(corners)
    if quad.height > quad.length:
        quad = Quad(np.roll(corners, -1, axis=0))
    is_long = quad.length > MIN_UPRIGHT_SHARE * quad.height and quad.length > MIN_UPRIGHT_PX
    if not is_long:
        sides = [Quad(np.roll(corners, -turn, axis=0)) for turn in range(4)]
        return min(sides, key=lambda side: abs(_off(side.angle, page)))
    return quad if -90 - STRAIGHT_DEGREES < quad.angle <= 90 - STRAIGHT_DEGREES else quad.flipped()


def page_angle(quads: Sequence[Quad]) -> float:
    """The angle of most of the writing, by the median of the lines' angles; 0 for a page that is nearly upright.

    Lines that stand upright, as at the axis of a chart, count only where most lines do.
    """
    upright = [quad for quad in quads if abs(quad.angle) > 60]
    level = [quad for quad in quads if abs(quad.angle) <= 60 and quad.length > 2 * quad.height]
    chosen = upright if 2 * len(upright) > len(quads) else level
    if not chosen:
        return 0.0
    ordered = sorted(chosen, key=lambda quad: quad.angle)
    lengths = np.cumsum([quad.length for quad in ordered])
    angle = ordered[int(np.searchsorted(lengths, lengths[-1] / 2))].angle
    return 0.0 if abs(angle) < STRAIGHT_DEGREES else angle


def level_box(quad: Quad, page: float) -> Box:
    """Its place once the page, which is turned by so much, is turned back around the picture's corner."""
    if page == 0.0:
        return quad.hull
    turn = math.radians(-page)
    matrix = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    return _around(quad.corners @ matrix.T)


def pixels_of(image: Image.Image, quad: Quad) -> Image.Image:
    """The pixels of the quadrilateral and a pixel or two around it, with its writing to the right."""
    first, second, third, fourth = quad.corners
    along = (second - first) / max(quad.length, 1e-9) * _MARGIN_ALONG_PX
    down = (fourth - first) / max(quad.height, 1e-9) * _MARGIN_ACROSS_PX
    above_left, below_left = first - along - down, fourth - along + down
    below_right, above_right = third + along + down, second + along - down
    size = (round(quad.length + 2 * _MARGIN_ALONG_PX), round(quad.height + 2 * _MARGIN_ACROSS_PX))
    corners = tuple(float(side) for corner in (above_left, below_left, below_right, above_right) for side in corner)
    paper = _paper(image, quad)
    return image.transform(
        (max(size[0], 1), max(size[1], 1)), Image.Transform.QUAD, corners, Image.Resampling.BICUBIC, fillcolor=paper
    )


def _paper(image: Image.Image, quad: Quad) -> tuple[int, ...]:
    """The colour in the middle of its edge above, for what lies outside the picture."""
    x, y = (quad.corners[0] + quad.corners[1]) / 2
    place = (int(np.clip(x, 0, image.width - 1)), int(np.clip(y, 0, image.height - 1)))
    colour = image.getpixel(place)
    return colour if isinstance(colour, tuple) else (255, 255, 255)


def _turn(corners: Corners) -> float:
    """Twice the area, positive where the corners go round clockwise as a viewer sees them."""
    x, y = corners[:, 0], corners[:, 1]
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def _off(angle: float, other: float) -> float:
    """The difference of two angles, from -180 to 180."""
    return (angle - other + 180) % 360 - 180


def _around(corners: Corners) -> Box:
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return Box(float(left), float(top), float(right), float(bottom))
