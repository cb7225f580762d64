"""What a reader of text gives: lines with their places."""

from dataclasses import dataclass
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
        """The lines in the order in which they are read (``order``); none when the picture holds no text."""
        ...


def scaled(box: Box, factor: float) -> Box:
    """The box in a picture that is ``factor`` times as large."""
    return Box(box.x1 * factor, box.y1 * factor, box.x2 * factor, box.y2 * factor)
