"""Straight line segments: the Hough transform that finds them, and dashes joined into dashed lines."""

import math
from collections.abc import Sequence
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


TURNS = 360
"""Directions of lines that are told apart: half degrees."""


class HoughTransform:
    """The Hough transform of a set of places: each votes for the lines through it, by half degrees and pixels.

    Places that a found line explains are removed, so that each counts for one line only.
    """

    def __init__(self, places: Places) -> None:
        reach = math.ceil(float(np.hypot(*places.T).max())) + 1 if len(places) else 1
        self._low = -reach
        self._votes = np.zeros((TURNS, 2 * reach + 1), np.int64)
        self._voters = 0
        self._excluded = np.zeros(self._votes.shape, bool)
        self._last = (0, 0)
        self._count(places, 1)

    def remove(self, places: Places) -> None:
        """Takes the votes of these places back."""
        self._count(places, -1)

    def strongest_line(self, shortest: float) -> LineSegment | None:
        """The line with the most votes, roughly: a piece of length 1; None when it has fewer than ``shortest``."""
        if self._voters < shortest:
            return None
        # A line's ink is about two pixels wide and falls into neighbouring bins.
        votes = self._votes + np.pad(self._votes[:, 1:], ((0, 0), (0, 1)))
        votes[self._excluded] = 0
        turn, bin_ = self._last = divmod(int(votes.argmax()), votes.shape[1])
        if votes[turn, bin_] < shortest:
            return None
        normal = complex(math.cos(_turns()[turn]), math.sin(_turns()[turn]))
        middle = (bin_ + self._low + 0.5) * normal
        return LineSegment(start=middle, end=middle + 1j * normal)

    def exclude_last(self) -> None:
        """Bars the line that was found last, because it is none."""
        self._excluded[self._last] = True

    def _count(self, places: Places, sign: int) -> None:
        for turn, angle in enumerate(_turns()):
            away = places[:, 0] * math.cos(angle) + places[:, 1] * math.sin(angle)
            bins = np.round(away).astype(np.int64) - self._low
            self._votes[turn] += sign * np.bincount(bins, minlength=self._votes.shape[1])
        self._voters += sign * len(places)


def _turns() -> npt.NDArray[np.float64]:
    return np.arange(TURNS) * math.pi / TURNS


SLENDER, SURE = 1.3, 2.0
"""A dash is so many times as long as wide; from the second on its direction is sure."""

THICKEST = 0.014
"""Width of a dash, as a share of the picture's longer side."""

FEWEST = 4
"""Dashes of a line."""

ASIDE_PX = 2.0
BENT = 8.0
"""How far dashes may be off their line, and turned from it in degrees; short ones have no exact direction."""

WIDEST_GAP = 1.8
"""Between two dashes, in lengths of a dash."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dash:
    """A short stroke; places are complex numbers in pixels."""

    number: int
    """Number of the piece of ink."""
    middle: complex
    way: complex
    """Its direction, of length 1."""
    length: float
    is_sure: bool
    """Whether it is long enough to show its direction."""


def dash_of(number: int, part: Mask, left: int, top: int, side_px: int) -> Dash | None:
    """The piece of ink as a dash, if it is one."""
    rows, columns = np.nonzero(part)
    spots = columns + 0.5 + left + 1j * (rows + 0.5 + top)
    middle = complex(spots.mean())
    way = complex(np.exp(0.5j * np.angle(((spots - middle) ** 2).sum()))) if len(spots) > 2 else 1 + 0j
    turned = (spots - middle) * way.conjugate()
    length, width = float(np.ptp(turned.real)) + 1, float(np.ptp(turned.imag)) + 1
    is_full = len(spots) >= 0.6 * length * width
    if length < max(4.0, SLENDER * width) or width > max(2.6, THICKEST * side_px) or not is_full:
        return None
    return Dash(number=number, middle=middle, way=way, length=length, is_sure=length >= SURE * width)


def dashed_lines(dashes: Sequence[Dash]) -> list[tuple[Dash, ...]]:
    """Chains of dashes, each from end to end."""
    free = list(dashes)
    lines = []
    for first in sorted((dash for dash in dashes if dash.is_sure), key=lambda dash: -dash.length):
        if first not in free:
            continue
        chain = _chain(first, free)
        free = [dash for dash in free if dash not in chain]
        if len(chain) >= FEWEST:
            lines.append(chain)
    return lines


def _chain(first: Dash, dashes: Sequence[Dash]) -> tuple[Dash, ...]:
    """All dashes that follow a dash on both sides, without a wide gap."""
    along = sorted((_along(first, dash), dash.number, dash) for dash in dashes if _is_on(first, dash))
    here = next(i for i, (_, _, dash) in enumerate(along) if dash is first)
    start = end = here
    while start > 0 and _follow(along[start - 1][2], along[start][2]):
        start -= 1
    while end + 1 < len(along) and _follow(along[end][2], along[end + 1][2]):
        end += 1
    return tuple(dash for _, _, dash in along[start : end + 1])


def _along(first: Dash, dash: Dash) -> float:
    return float(((dash.middle - first.middle) * first.way.conjugate()).real)


def _is_on(first: Dash, dash: Dash) -> bool:
    gap = dash.middle - first.middle
    way = gap / abs(gap) if abs(gap) > 2 * first.length else first.way
    turn = max((abs((way.conjugate() * one.way).imag) for one in (first, dash) if one.is_sure), default=1.0)
    return turn < math.sin(math.radians(BENT)) and abs((gap * first.way.conjugate()).imag) < ASIDE_PX + 0.06 * abs(gap)


def _follow(one: Dash, other: Dash) -> bool:
    gap = abs(other.middle - one.middle) - (one.length + other.length) / 2
    longer, shorter = max(one.length, other.length), min(one.length, other.length)
    return 1.0 <= gap <= WIDEST_GAP * longer and shorter > 0.25 * longer
