"""The size and the encoding of a benchmark's pictures."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class PixelRule:
    """How a harness changes a picture before it is sent."""

    encoding: Literal["png", "jpeg"] = "png"
    min_pixels: int | None = None
    """Smaller pictures are enlarged to it; None leaves them."""
    max_pixels: int | None = None
