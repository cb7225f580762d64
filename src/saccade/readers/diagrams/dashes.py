"""Dashed lines: short strokes that follow each other on one straight line, at even gaps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
