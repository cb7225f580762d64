"""What a reader of text gives: lines with their places."""

from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from saccade.geometry import Box

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


class TextReader(Protocol):
    """An engine of character recognition; safe for many threads, the same lines for the same pixels."""

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        """The lines from top to bottom, then from left to right; none when the picture holds no text."""
        ...


def in_reading_order(lines: list[TextLine]) -> tuple[TextLine, ...]:
    """Rows from top to bottom, each from left to right; lines share a row when half of their height overlaps."""
    return tuple(line for row in rows_of(lines) for line in row)


def rows_of(lines: list[TextLine] | tuple[TextLine, ...]) -> list[list[TextLine]]:
    """Lines by rows of the page."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.box.center.y, line.box.x1)):
        if rows and _shares_row(rows[-1][-1].box, line.box):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box.x1) for row in rows]


def _shares_row(one: Box, other: Box) -> bool:
    overlap = min(one.y2, other.y2) - max(one.y1, other.y1)
    return overlap >= 0.5 * min(one.height, other.height)


def scaled(box: Box, factor: float) -> Box:
    """The box in a picture that is ``factor`` times as large."""
    return Box(box.x1 * factor, box.y1 * factor, box.x2 * factor, box.y2 * factor)
