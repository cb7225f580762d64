"""Lines of text: their boxes, the reading order, and the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Protocol

from PIL import Image

from saccade.geometry import Box, Point

MAX_SIDE_PX = 2048
"""Larger pictures are shrunk before they are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextLine:
    """A run of text without a wide gap in it."""

    text: str
    box: Box
    """In pixels of the image that was read."""
    confidence: float
    """From 0 to 1, as the engine gives it."""
    level: Box | None = None
    """On a page that is turned: its box once the page is turned back around the picture's corner."""
    corners: tuple[Point, ...] = ()
    """Corners of a slanted line: where it begins above, ends above, ends below, begins below, in pixels too."""

    @property
    def place(self) -> Box:
        """Where it stands on the page, the page upright."""
        return self.level or self.box


class TextReader(Protocol):
    """An engine of character recognition; safe for many threads, the same lines for the same pixels."""

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        """The lines in the order in which they are read (``in_reading_order``); none when the picture holds no text."""
        ...


def scaled(box: Box, factor: float) -> Box:
    """The box in a picture that is ``factor`` times as large."""
    return Box(box.x1 * factor, box.y1 * factor, box.x2 * factor, box.y2 * factor)


MIN_ROWS = 3
"""Rows that a column of prose has at least."""

MIN_LETTERS = 12
"""Letters of the median row of a column of prose."""

MIN_FILLED = 0.8
"""Share of the column's width that the median row of prose fills."""

MAX_ROW_HEIGHTS = 3.0
"""Lines that are higher by so many times share no row."""

MAX_CROSSING = 0.25
"""Share of the lines that cross a gutter, such as headings over several columns."""

MIN_GUTTER = 0.8
"""Least width of the gap between columns, as a share of a line's height."""


def in_reading_order(lines: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """Rows from top to bottom, each from left to right; columns of prose one after another."""
    edge = _edge(lines)
    bands = [list(lines)] if edge is None else _bands(lines, edge)
    columns = [column for band in bands for column in _columns(band) or [band]]
    return tuple(line for column in columns for row in rows_of(column) for line in row)


def rows_of(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines by rows of the page, over all columns; lines share a row when half of their height overlaps."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.place.center.y, line.place.x1)):
        if rows and _shares_row(rows[-1][-1].place, line.place):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.place.x1) for row in rows]


def _edge(lines: Sequence[TextLine]) -> float | None:
    """Where the second column begins: the left edge that several lines share, with a gap before it that few cross."""
    if len(lines) < 2 * MIN_ROWS:
        return None
    for edge in sorted({line.place.x1 for line in lines}):
        left, right, crossing = _sides(lines, edge)
        # A column's edge is where lines begin, not what is right of some of them.
        begin = sum(line.place.x1 < edge + _height(lines) for line in right)
        if len(left) >= MIN_ROWS <= begin and len(crossing) <= MAX_CROSSING * len(lines):
            return edge
    return None


def _height(lines: Sequence[TextLine]) -> float:
    return median(line.place.height for line in lines)


def _sides(lines: Sequence[TextLine], edge: float) -> tuple[list[TextLine], list[TextLine], list[TextLine]]:
    """Lines that end well before the edge, lines that begin at it or later, and the others."""
    gap = MIN_GUTTER * _height(lines)
    left = [line for line in lines if line.place.x2 <= edge - gap]
    right = [line for line in lines if line.place.x1 >= edge]
    crossing = [line for line in lines if line.place.x2 > edge - gap and line.place.x1 < edge]
    return left, right, crossing


def _columns(lines: Sequence[TextLine]) -> list[list[TextLine]] | None:
    """The columns of prose from left to right; None where there are none."""
    edge = _edge(lines)
    if edge is None:
        return None
    left, right, crossing = _sides(lines, edge)
    others = _columns(right) or ([right] if _is_prose(right) else None)
    return None if crossing or others is None or not _is_prose(left) else [left, *others]


def _bands(lines: Sequence[TextLine], edge: float) -> list[list[TextLine]]:
    """Lines between those that cross the edge, from top to bottom; each of these is a band with what shares its row."""
    crossing = _sides(lines, edge)[2]
    bands: list[list[TextLine]] = [[]]
    was_crossed = False
    for row in rows_of(lines):
        is_crossed = any(line in crossing for line in row)
        if is_crossed != was_crossed and bands[-1]:
            bands.append([])
        was_crossed = is_crossed
        bands[-1] += row
    return bands


def _is_prose(lines: Sequence[TextLine]) -> bool:
    rows = rows_of(lines)
    if len(rows) < MIN_ROWS:
        return False
    left, right = min(line.place.x1 for line in lines), max(line.place.x2 for line in lines)
    letters = median(sum(len(line.text) for line in row) for row in rows)
    filled = median((row[-1].place.x2 - row[0].place.x1) / (right - left) for row in rows)
    has_cells = any(after.place.x1 - before.place.x2 > 3 * before.place.height for before, after in _neighbours(rows))
    return letters >= MIN_LETTERS and filled >= MIN_FILLED and not has_cells


def _neighbours(rows: Sequence[Sequence[TextLine]]) -> list[tuple[TextLine, TextLine]]:
    """Lines next to each other in rows that most rows would have to have, were they cells."""
    pairs = [pair for row in rows for pair in pairwise(row)]
    return pairs if len(pairs) * 2 > len(rows) else []


def _shares_row(one: Box, other: Box) -> bool:
    overlap = min(one.y2, other.y2) - max(one.y1, other.y1)
    low, high = sorted((one.height, other.height))
    # A label that stands upright beside a chart would join all rows that it stands beside.
    return overlap >= 0.5 * low and high <= MAX_ROW_HEIGHTS * low
