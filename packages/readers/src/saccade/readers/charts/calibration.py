"""Calibration of an axis: its numbers, and the line from pixels to values, or to logarithms, that fits most of them."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import cv2
import numpy as np

from saccade.geometry import Box
from saccade.quantities import parse_quantity
from saccade.readers.charts.colours import Pixels
from saccade.readers.text.lines import TextLine

_RAISED_POWER = re.compile(r"(?:(\d)\s?[×x·])?\s?10([-−–]?\d)")
RAISED = 0.2
"""Share of the ten's height by which the foot of its exponent is higher."""


def with_powers(numbers: list[tuple[TextLine, float | None]], pixels: Pixels) -> list[tuple[TextLine, float]]:
    """The texts that are numbers, those that are a ten with a raised digit as powers of ten."""
    found = []
    for line, value in numbers:
        written = line.text.strip()
        if (power := _RAISED_POWER.fullmatch(written)) is not None and is_raised(line, pixels):
            value = float(power[1] or 1) * 10.0 ** int(power[2].replace("−", "-").replace("–", "-"))
        if value is not None:
            found.append((line, value))
    return found


def is_raised(line: TextLine, pixels: Pixels) -> bool:
    """Whether the last digit stands higher than the first."""
    box = line.box
    crop = pixels[max(0, int(box.y1)) : int(np.ceil(box.y2)), max(0, int(box.x1)) : int(np.ceil(box.x2))]
    if not crop.size:
        return False
    paper = np.median(crop.reshape(-1, 3), axis=0)
    ink = (np.abs(crop.astype(np.int16) - paper).max(axis=2) > 90).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    digits = [row for row in stats[1:count].tolist() if row[4] >= 4 and row[3] >= 0.25 * crop.shape[0]]
    if len(digits) < 2:
        return False
    first, last = min(digits, key=lambda row: row[0]), max(digits, key=lambda row: row[0] + row[2])
    return bool((first[1] + first[3]) - (last[1] + last[3]) > RAISED * first[3])


Direction = Literal["up", "right"]
LEAST_TICKS = 3
_LOOKALIKES = str.maketrans(
    {"O": "0", "o": "0", "l": "1", "I": "1", "—": "-", "–": "-", "−": "-", "，": ",", "。": "."}
)
_EXPONENTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_POWER = re.compile(r"(?:(\d)\s?[×x·])?\s?10(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_WITH_UNIT = re.compile(r"([-+]?\d[\d.,]*)\s?([a-zA-Z°]{1,4})")
_MULTIPLIERS = frozenset({"b", "bn", "k", "m", "mil", "mio", "mn", "mrd", "tn", "tsd"})
"""Suffixes that multiply a number."""
_NUMBERLIKE = re.compile(r"[-+$€£]?[\d.,Oo]*\d[\d.,OolI]*\s*[%kKMB]?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """A number and the pixel where its label is centred."""

    value: float
    at_px: float
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """``value = factor * pixel + offset``; ``factor`` is negative for an axis that counts upwards.

    On a logarithmic axis that is the value's logarithm to the base ten.
    """

    factor: float
    offset: float
    ticks: tuple[Tick, ...]
    agreement: float
    """The share of the labels in line with the axis that agree with it."""
    is_log: bool = False

    def value(self, px: float) -> float:
        linear = self.factor * px + self.offset
        return 10.0 ** min(linear, 300.0) if self.is_log else linear

    def px(self, value: float) -> float:
        return (self.linear(value) - self.offset) / self.factor

    def linear(self, value: float) -> float:
        """The quantity that grows evenly along the axis: the value, or its logarithm."""
        return math.log10(value) if self.is_log else value

    @property
    def zero_px(self) -> float | None:
        """Where zero is; None on a logarithmic axis."""
        return None if self.is_log else self.px(0.0)

    def moved(self, by_px: float) -> "Scale":
        """The same axis, drawn so many pixels further down or right."""
        return replace(self, offset=self.offset - self.factor * by_px)

    @property
    def box(self) -> Box:
        """Around all labels."""
        boxes = [tick.box for tick in self.ticks]
        return Box(
            min(b.x1 for b in boxes), min(b.y1 for b in boxes), max(b.x2 for b in boxes), max(b.y2 for b in boxes)
        )


def number_of(text: str) -> float | None:
    """The number that a tick label is, common misreadings put right; None when it is none."""
    # A tick mark beside the number is read as a dash behind it.
    written = text.strip().translate(_LOOKALIKES).rstrip("- _~.")
    if (power := _POWER.fullmatch(written)) is not None:
        return float(power[1] or 1) * 10.0 ** int(power[2].translate(_EXPONENTS))
    if not _NUMBERLIKE.fullmatch(written):
        return None
    quantity = parse_quantity(written)
    return None if quantity is None else quantity.value


def value_scale(
    lines: tuple[TextLine, ...], pixels: Pixels, direction: Direction, *, least_ticks: int = LEAST_TICKS
) -> Scale | None:
    """The axis of numbers in a column (``up``) or a row (``right``); None when fewer than ``least_ticks`` agree."""
    lines = _without_unit(lines) if direction == "up" else lines
    numbers = with_powers([(line, number_of(line.text)) for line in lines], pixels)
    best: Scale | None = None
    for group in _number_groups(numbers, direction, least_ticks):
        scale = _consensus(_ticks(group, pixels, direction), direction, least_ticks)
        if scale is not None and (best is None or _rank(scale, direction) > _rank(best, direction)):
            best = scale
    return best


def _without_unit(lines: tuple[TextLine, ...]) -> tuple[TextLine, ...]:
    """The lines, numbers without the unit that at least three of them share, such as ``20 t``."""
    found = [(line, _WITH_UNIT.fullmatch(line.text.strip())) for line in lines]
    units = Counter(match[2] for _, match in found if match is not None and match[2].casefold() not in _MULTIPLIERS)
    shared = {unit for unit, count in units.items() if count >= LEAST_TICKS}
    return tuple(
        replace(line, text=match[1]) if match is not None and match[2] in shared else line for line, match in found
    )


def _rank(scale: Scale, direction: Direction) -> tuple[int, float]:
    """More ticks are better, then those further to the left or bottom: numbers in the plot are labels of its values."""
    return len(scale.ticks), scale.box.y1 if direction == "right" else -scale.box.x1


def _number_groups(
    numbers: list[tuple[TextLine, float]], direction: Direction, least: int
) -> list[list[tuple[TextLine, float]]]:
    """Numbers in one column (by the right edge, the centre or the left edge) or one row."""
    groups: list[list[tuple[TextLine, float]]] = []
    for edge in (_middle_row,) if direction == "right" else (_right, _middle_column, _left):
        for line, _ in numbers:
            reach = 0.5 * line.box.height
            group = [(other, value) for other, value in numbers if abs(edge(other.box) - edge(line.box)) <= reach]
            if len(group) >= least and group not in groups:
                groups.append(group)
    return groups


def _left(box: Box) -> float:
    return box.x1


def _right(box: Box) -> float:
    return box.x2


def _middle_column(box: Box) -> float:
    return box.center.x


def _middle_row(box: Box) -> float:
    return box.center.y


def _ticks(group: list[tuple[TextLine, float]], pixels: Pixels, direction: Direction) -> list[Tick]:
    inks = [_ink(line.box, pixels) for line, _ in group]
    if direction == "right":
        return [
            Tick(value=value, at_px=ink.center.x, box=line.box) for (line, value), ink in zip(group, inks, strict=True)
        ]
    # A comma hangs below the digits, but nothing stands above them: so the top edge tells where the digits are.
    digits = [ink.height for (line, _), ink in zip(group, inks, strict=True) if not set(line.text) & set(",()$")]
    height = float(np.median(digits or [ink.height for ink in inks]))
    return [
        Tick(value=value, at_px=ink.y1 + height / 2, box=line.box)
        for (line, value), ink in zip(group, inks, strict=True)
    ]


def _ink(box: Box, pixels: Pixels) -> Box:
    """The box of the ink in a line's box, to fractions of a pixel by how dark the outermost rows are."""
    left, top = max(0, int(box.x1)), max(0, int(box.y1))
    crop = pixels[top : int(np.ceil(box.y2)), left : int(np.ceil(box.x2))].astype(np.int16)
    if not crop.size:
        return box
    paper = np.median(crop.reshape(-1, 3), axis=0)
    ink = np.abs(crop - paper).max(axis=2) / 255.0
    # An axis at the edge of the box is no part of the text: nothing else is as high as the box.
    ink[:, (ink > 0.15).mean(axis=0) > 0.95] = 0
    ink = ink / max(float(ink.max()), 0.2)
    sides = []
    for axis in (1, 0):
        profile = ink.max(axis=axis)
        inked = np.flatnonzero(profile > 0.5)
        if not len(inked):
            return box
        first, last = int(inked[0]), int(inked[-1])
        before = float(profile[first - 1]) if first else 0.0
        after = float(profile[last + 1]) if last + 1 < len(profile) else 0.0
        sides.append((first - before, last + 1 + after))
    (y1, y2), (x1, x2) = sides
    return Box(left + x1, top + y1, left + x2, top + y2)


def _consensus(ticks: list[Tick], direction: Direction, least_ticks: int) -> Scale | None:
    """The scale that most labels agree on; a logarithmic one only where it fits more of them."""
    even = _scale_through(ticks, direction, least_ticks, is_log=False)
    if len(ticks) < 3 or not all(tick.value > 0 for tick in ticks):
        return even
    log = _scale_through(ticks, direction, max(3, least_ticks), is_log=True)
    return log if log is not None and (even is None or len(log.ticks) > len(even.ticks)) else even


def _scale_through(ticks: list[Tick], direction: Direction, least_ticks: int, *, is_log: bool) -> Scale | None:
    """The line through two labels that most labels lie on, then the least squares line through those."""
    values = [math.log10(tick.value) if is_log else tick.value for tick in ticks]
    best: list[int] = []
    least = np.inf
    for one, other in combinations(range(min(len(ticks), 24)), 2):
        apart = ticks[other].at_px - ticks[one].at_px
        if abs(apart) < 4 or values[one] == values[other]:
            continue
        factor = (values[other] - values[one]) / apart
        if (factor < 0) != (direction == "up"):
            continue
        pairs = zip(values, ticks, strict=True)
        misses = [abs((value - values[one]) / factor - (tick.at_px - ticks[one].at_px)) for value, tick in pairs]
        inliers = [index for index, miss in enumerate(misses) if miss < 3]
        total = sum(miss for miss in misses if miss < 3)
        if (len(inliers), -total) > (len(best), -least):
            best, least = inliers, total
    if len({values[index] for index in best}) < least_ticks:
        return None
    px = np.array([ticks[index].at_px for index in best])
    factor, offset = (float(number) for number in np.polyfit(px, np.array([values[index] for index in best]), 1))
    ordered = tuple(sorted((ticks[index] for index in best), key=lambda tick: tick.value))
    return Scale(factor=factor, offset=offset, ticks=ordered, agreement=len(best) / len(ticks), is_log=is_log)
