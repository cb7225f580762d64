"""Characters of printed labels, told by how much they look like characters that this program prints itself.

Fast and exact for plain upright type. What looks like nothing known goes to a ``TextReader``, where there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from saccade.readers.diagrams.ink import Glyph, Grey

CHARACTERS = (*"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZxyzabnmck+()/", "(x", "(y", "x°", "y°")
"""Some run together in small type. Dots, degree signs and dashes are told by their size and height."""

SIDE_PX = 24
"""Characters are compared in squares of this size."""

TEMPLATE_SIZES_PX = ((13, 1.0), (15, 1.0), (19, 1.0), (28, 1.0), (44, 1.0), (13, 1.6), (15, 1.6), (15, 2.0))
"""Sizes of the type, and how much the print is enlarged afterwards, as pictures of small diagrams often are."""

TYPEFACES = Path(__file__).with_name("typefaces.npz")
"""Characters in other typefaces, upright and slanted; ``benchmarks/diagram_typefaces.py`` makes them."""

CORNER, CORNER_INK = 0.15, 0.53
"""A B has ink in its left corners, such a share of its size, where an 8 has next to none."""

LOWER = "xyzabnmck"
LIKE_NUMBERS = str.maketrans("OQDISZBlxX", "0001528lxx")
"""What a character between digits is, when it looks like a capital."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Character:
    """A character and how sure it is, 0 to 1."""

    text: str
    sureness: float


def character_of(glyph: Glyph, line_height: float, top: float) -> Character:
    """The character of a glyph in a line of print that is ``line_height`` pixels high and starts at ``top``."""
    tall, wide = glyph.height / line_height, glyph.width / line_height
    middle = ((glyph.top + glyph.bottom) / 2 - top) / line_height
    if tall < 0.36 and wide > 1.5 * tall:
        return Character(text="-", sureness=0.9)
    if tall < 0.56 and wide < 0.62 and middle < 0.46:
        return Character(text="°", sureness=0.9)
    if tall < 0.36 and wide < 0.36 and middle > 0.7:
        return Character(text=".", sureness=0.9)
    shape = square(glyph.shape)
    names, pictures, is_lower = _templates()
    likeness = pictures @ shape.ravel()
    # A small x is a capital one that is not as high as the line.
    likeness = likeness - np.where(is_lower == (tall < 0.87), 0.0, 0.12)
    best = int(likeness.argmax())
    text = names[best]
    # Pillow's own B and 8 are too alike for that; those of other typefaces are not.
    if text in "B8" and best < len(TEMPLATE_SIZES_PX) * len(CHARACTERS):
        text = "B" if _corner_ink(glyph.shape) >= CORNER_INK else "8"
    return Character(text=text, sureness=float(max(0.0, likeness[best])))


def is_dot(glyph: Glyph) -> bool:
    """Whether the glyph is a small full disc, as centres are marked."""
    if max(glyph.width, glyph.height) > 9 or abs(glyph.width - glyph.height) > 2:
        return False
    filled = float((glyph.shape >= 0.45).mean())
    # A degree sign is hollow, or at a few pixels much fainter in its middle.
    core = glyph.shape[glyph.height // 2, glyph.width // 2]
    return filled > 0.66 and core > 0.85 and glyph.height >= 4


def _corner_ink(shape: Grey) -> float:
    """How much ink the fainter of the two left corners holds."""
    rows, columns = max(1, round(CORNER * shape.shape[0])), max(1, round(CORNER * shape.shape[1]))
    return float(min(shape[:rows, :columns].mean(), shape[-rows:, :columns].mean()))


def square(shape: Grey) -> Grey:
    """The shape in the middle of a square, of length 1 as a vector and without its mean."""
    height, width = shape.shape
    scale = (SIDE_PX - 4) / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    fitted = cv2.resize(shape, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.zeros((SIDE_PX, SIDE_PX), np.float32)
    top, left = (SIDE_PX - size[1]) // 2, (SIDE_PX - size[0]) // 2
    square[top : top + size[1], left : left + size[0]] = fitted
    square = cv2.GaussianBlur(square, (3, 3), 0.8)
    square -= square.mean()
    return np.asarray(square / max(1e-6, float(np.linalg.norm(square))), np.float32)


@cache
def _templates() -> tuple[tuple[str, ...], Grey, npt.NDArray[np.bool_]]:
    """Characters, their pictures as rows, and whether each is a small letter."""
    names: list[str] = []
    pictures: list[Grey] = []
    for size, enlarged in TEMPLATE_SIZES_PX:
        default = ImageFont.load_default(size=size)
        assert isinstance(default, ImageFont.FreeTypeFont)  # always, when a size is given
        for name in CHARACTERS:
            names.append(name)
            pictures.append(square(printed(name, default, size, enlarged)).ravel())
    with np.load(TYPEFACES) as kept:
        names += [str(name) for name in kept["names"]]
        rows = kept["pictures"].reshape(len(kept["names"]), -1).astype(np.float32)
    pictures += list(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return tuple(names), np.stack(pictures), np.array([name in LOWER for name in names])


def printed(name: str, font: ImageFont.FreeTypeFont, size: int, enlarged: float) -> Grey:
    """A character in a font of a size, perhaps enlarged, cut out."""
    canvas = Image.new("L", (3 * size, 3 * size))
    ImageDraw.Draw(canvas).text((size, size), name, fill=255, font=font)
    side = round(3 * size * enlarged)
    ink = np.asarray(canvas.resize((side, side), Image.Resampling.BICUBIC), np.float32) / 255
    rows, columns = np.nonzero(ink >= 0.45)
    return np.asarray(ink[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1], np.float32)


def as_number(characters: Sequence[Character]) -> str:
    """The characters of a value: between digits, what looks like O is a zero."""
    return "".join(one.text for one in characters).translate(LIKE_NUMBERS)
