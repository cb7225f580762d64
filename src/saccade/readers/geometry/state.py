"""Many figures at once: coordinates, radii and unknowns as arrays with one entry per figure of the batch."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Vector = tuple[Array, Array]

TINY = 1e-30
"""Keeps quotients of a collapsed figure finite."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureBatch:
    """A batch of figures; all arrays have the shape (batch,)."""

    points: Mapping[str, Vector]
    radii: Mapping[str, Array]
    """Radii of circles, by centre."""
    symbols: Mapping[str, Array]
    members: Mapping[str, tuple[str, ...]]
    """Points that are said to lie on a circle, by its centre; the same in all figures."""
    choice: npt.NDArray[np.int64]
    """Which reading of statements that can be read in several ways; a different digit for each of them."""
    size: float
    """The length that coordinates are of the order of."""

    def vector(self, start: str, end: str) -> Vector:
        """From one point to another."""
        (x, y), (u, v) = self.points[start], self.points[end]
        return u - x, v - y

    def distance(self, start: str, end: str) -> Array:
        """Distance of two points."""
        return norm(self.vector(start, end))

    def sine(self, first: tuple[str, str], second: tuple[str, str]) -> Array:
        """Sine of the directed angle between two lines; 0 where they are parallel."""
        a, b = self.vector(*first), self.vector(*second)
        return cross(a, b) / (norm(a) * norm(b))

    def cosine(self, first: tuple[str, str], second: tuple[str, str]) -> Array:
        """Cosine of the angle between two lines; 0 where they are perpendicular."""
        a, b = self.vector(*first), self.vector(*second)
        return dot(a, b) / (norm(a) * norm(b))

    def degrees(self, first: str, vertex: str, second: str) -> Array:
        """The angle at a vertex, from 0 to 180."""
        a, b = self.vector(vertex, first), self.vector(vertex, second)
        return np.degrees(np.arctan2(np.abs(cross(a, b)), dot(a, b)))

    def height(self, point: str, line: tuple[str, str]) -> Array:
        """The signed distance of a point from a line."""
        along = self.vector(*line)
        return cross(along, self.vector(line[0], point)) / norm(along)

    def signed_area(self, corners: tuple[str, ...]) -> Array:
        """Signed area of a polygon, positive where the corners go round counterclockwise."""
        total = np.zeros_like(self.points[corners[0]][0])
        for first, second in zip(corners, (*corners[1:], corners[0])):
            total = total + cross(self.points[first], self.points[second])
        return total / 2

    def perimeter(self, corners: tuple[str, ...]) -> Array:
        """Perimeter of a polygon."""
        sides = [self.distance(first, second) for first, second in zip(corners, (*corners[1:], corners[0]))]
        total: Array = np.sum(sides, axis=0)
        return total


def cross(a: Vector, b: Vector) -> Array:
    """Positive where ``b`` is to the left of ``a``."""
    return a[0] * b[1] - a[1] * b[0]


def dot(a: Vector, b: Vector) -> Array:
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1]


def norm(a: Vector) -> Array:
    """The length of a vector; a little above 0 where it is 0."""
    return np.sqrt(dot(a, a) + TINY)
