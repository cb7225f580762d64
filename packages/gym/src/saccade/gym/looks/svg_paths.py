"""Outlines of SVG's shapes: path data read into the paths that matplotlib's Agg draws."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.path import Path

_MOVE, _LINE, _CURVE3, _CURVE4, _CLOSE = 1, 2, 3, 4, 79  # matplotlib's codes
_COMMAND = re.compile(r"([MLHVCSQTAZmlhvcsqtaz])([^MLHVCSQTAZmlhvcsqtaz]*)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}
_ROUND = 4 / 3 * math.tan(math.pi / 8)
"""How far the control points of a quarter of a circle lie from its ends, in radii."""

Place = tuple[float, float]


@lru_cache(maxsize=512)  # marks of the same kind repeat within a picture; a path of values is never seen again
def path_outline(data: str) -> "Path":
    """The outline of path data, as in the attribute ``d``. ValueError where numbers are missing."""
    pen = _OutlinePen()
    for letter, numbers in _commands(data):
        pen.follow(letter, numbers)
    return pen.outline()


def run_outline(places: Sequence[Place], *, is_closed: bool) -> "Path":
    """Straight pieces from place to place."""
    pen = _OutlinePen()
    for index, place in enumerate(places):
        pen.add(_LINE if index else _MOVE, place)
    if is_closed:
        pen.close()
    return pen.outline()


def box_outline(x: float, y: float, width: float, height: float, round_px: float = 0.0) -> "Path":
    """A rectangle, with round corners where they have a radius."""
    if not round_px:
        return run_outline([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], is_closed=True)
    reach = min(round_px, width / 2, height / 2)
    arc = f"a{reach} {reach} 0 0 1"
    return path_outline(
        f"M{x + reach} {y}h{width - 2 * reach}{arc} {reach} {reach}v{height - 2 * reach}{arc} {-reach} {reach}"
        f"h{2 * reach - width}{arc} {-reach} {-reach}v{2 * reach - height}{arc} {reach} {-reach}z"
    )


def ellipse_outline(x: float, y: float, across: float, down: float) -> "Path":
    """An ellipse around its middle, with its two radii."""
    pen = _OutlinePen()
    pen.add(_MOVE, (x + across, y))
    for quarter in range(4):
        (cos, sin), (then_cos, then_sin) = (_compass(turn) for turn in (quarter, quarter + 1))
        pen.curve(
            (x + across * (cos - _ROUND * sin), y + down * (sin + _ROUND * cos)),
            (x + across * (then_cos + _ROUND * then_sin), y + down * (then_sin - _ROUND * then_cos)),
            (x + across * then_cos, y + down * then_sin),
        )
    pen.close()
    return pen.outline()


def _compass(quarter: int) -> Place:
    return ((1, 0), (0, 1), (-1, 0), (0, -1))[quarter % 4]


def _commands(data: str) -> Iterator[tuple[str, list[float]]]:
    for letter, rest in _COMMAND.findall(data):
        numbers = [float(number) for number in _NUMBER.findall(rest)]
        count = _COUNTS[letter.upper()]
        if not count:
            yield letter, []
            continue
        if len(numbers) % count:
            raise ValueError(f"the path data {letter}{rest!r} has {len(numbers)} numbers, not a multiple of {count}")
        for at in range(0, len(numbers), count):
            yield letter, numbers[at : at + count]
            letter = {"M": "L", "m": "l"}.get(letter, letter)


class _OutlinePen:
    """Where the pen is, and what it has drawn."""

    def __init__(self) -> None:
        self._points: list[Place] = []
        self._codes: list[int] = []
        self._at: Place = (0.0, 0.0)
        self._start: Place = (0.0, 0.0)
        self._handle: Place | None = None
        """The last control point, which smooth curves mirror."""
        self._last = ""

    def outline(self) -> "Path":
        from matplotlib.path import Path

        return Path(np.array(self._points, dtype=float).reshape(-1, 2), np.array(self._codes, dtype=np.uint8))

    def add(self, code: int, *places: Place) -> None:
        self._points += places
        self._codes += [code] * len(places)
        self._at = places[-1]
        if code == _MOVE:
            self._start = self._at

    def curve(self, first: Place, second: Place, end: Place) -> None:
        self.add(_CURVE4, first, second, end)

    def close(self) -> None:
        self._points.append(self._start)
        self._codes.append(_CLOSE)
        self._at = self._start

    def follow(self, letter: str, numbers: list[float]) -> None:
        """One command of path data."""
        kind = letter.upper()
        left, top = self._at if letter.islower() else (0.0, 0.0)
        mirrored = self._mirrored(kind)
        self._handle = None
        if kind == "Z":
            self.close()
        elif kind == "H":
            self.add(_LINE, (left + numbers[0], self._at[1]))
        elif kind == "V":
            self.add(_LINE, (self._at[0], top + numbers[0]))
        elif kind == "A":
            self._arc(numbers, (left + numbers[5], top + numbers[6]))
        else:
            places = [(left + numbers[at], top + numbers[at + 1]) for at in range(0, len(numbers), 2)]
            if kind in "ST":
                places.insert(0, mirrored)
            self.add({"M": _MOVE, "L": _LINE, "C": _CURVE4, "S": _CURVE4}.get(kind, _CURVE3), *places)
            self._handle = places[-2] if kind in "CSQT" else None
        self._last = kind

    def _mirrored(self, kind: str) -> Place:
        if self._handle is None or self._last not in {"S": "CS", "T": "QT"}.get(kind, ""):
            return self._at
        return (2 * self._at[0] - self._handle[0], 2 * self._at[1] - self._handle[1])

    def _arc(self, numbers: list[float], end: Place) -> None:
        """An arc of an ellipse as cubic curves (SVG 1.1, appendix F.6)."""
        across, down, turn, is_large, is_clockwise = numbers[:5]
        (x1, y1), (x2, y2) = self._at, end
        if not across or not down or (x1, y1) == (x2, y2):
            self.add(_LINE, end)
            return
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        x = (cos * (x1 - x2) + sin * (y1 - y2)) / 2 / abs(across)
        y = (cos * (y1 - y2) - sin * (x1 - x2)) / 2 / abs(down)
        grown = max(1.0, math.hypot(x, y))  # radii that are too short are made longer
        across, down, x, y = abs(across) * grown, abs(down) * grown, x / grown, y / grown
        square = x * x + y * y
        middle = math.sqrt(max(0.0, 1 - square) / square) * (-1 if bool(is_large) == bool(is_clockwise) else 1)
        mid_x, mid_y = middle * y, -middle * x  # of the unit circle's, whose arc goes from (x, y) to (-x, -y)
        begin = math.atan2(y - mid_y, x - mid_x)
        sweep = math.atan2(-y - mid_y, -x - mid_x) - begin
        if is_clockwise and sweep < 0:
            sweep += 2 * math.pi
        elif not is_clockwise and sweep > 0:
            sweep -= 2 * math.pi

        def place(at_x: float, at_y: float) -> Place:
            wide, high = (at_x + mid_x) * across, (at_y + mid_y) * down
            return (cos * wide - sin * high + (x1 + x2) / 2, sin * wide + cos * high + (y1 + y2) / 2)

        pieces = max(1, math.ceil(abs(sweep) / (math.pi / 2) - 1e-9))
        step = sweep / pieces
        reach = 4 / 3 * math.tan(step / 4)
        for piece in range(pieces):
            a, b = begin + piece * step, begin + (piece + 1) * step
            self.curve(
                place(math.cos(a) - reach * math.sin(a), math.sin(a) + reach * math.cos(a)),
                place(math.cos(b) + reach * math.sin(b), math.sin(b) - reach * math.cos(b)),
                end if piece == pieces - 1 else place(math.cos(b), math.sin(b)),
            )
