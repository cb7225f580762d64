"""Straight lines from one place to another, places as complex numbers in pixels."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.float64]
"""Places in pixels, (count, 2), x first; a pixel's middle is a half."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LineSegment:
    """A straight line from ``start`` to ``end``."""

    start: complex
    end: complex

    @property
    def length(self) -> float:
        return abs(self.end - self.start)

    @property
    def way(self) -> complex:
        """Its direction, of length 1."""
        return (self.end - self.start) / self.length

    def along(self, at: complex) -> float:
        """How far along the line a place is, in pixels from its start."""
        return ((at - self.start) * self.way.conjugate()).real

    def off(self, at: complex) -> float:
        """How far from the endless line a place is."""
        return abs(((at - self.start) * self.way.conjugate()).imag)
