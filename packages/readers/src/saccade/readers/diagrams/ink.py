"""Ink of a picture, parted into the figure and glyphs, and the characters that the glyphs are.

Characters are told by how much they look like characters that this program prints itself: fast, and exact for plain
upright type. A glyph that looks like nothing known goes to a ``TextReader``, where there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from saccade.errors import ToolError
from saccade.readers.diagrams.segments import Dash, dash_of, dashed_lines

MAX_SIDE_PX = 1024
"""Larger pictures are read at this size."""

MIN_SIDE_PX = 24
LEAST_CONTRAST = 40
"""Contrast of ink against the ground, of 255."""

INK_SHARE = 0.45
"""From this share of the strongest contrast on a pixel is ink."""

MAX_GLYPH = 0.1
"""Height and width of a character, as a share of the picture's longer side."""

MAX_PARTS = 400
"""Separate pieces of ink in a picture that can be a diagram."""

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]
Grey = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Glyph:
    """A small piece of ink on its own: a character, a degree sign, a dot. Whole pixels, right and bottom excluded."""

    left: int
    top: int
    right: int
    bottom: int
    shape: Grey
    """How strong its ink is, (height, width), 0 to 1."""

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top


@dataclass(frozen=True, kw_only=True, slots=True)
class Ink:
    """A picture's ink. Places are in pixels of ``strength``; times ``scale`` they are in pixels of the picture."""

    strength: Grey
    figure: Mask
    """Ink of lines, circles and marks."""
    glyphs: tuple[Glyph, ...]
    scale: float

    @property
    def side_px(self) -> int:
        """The longer side."""
        return int(max(self.strength.shape))


def ink_of(image: Image.Image) -> Ink:
    """The ink of a diagram on a plain ground; ``ToolError`` when the picture is none."""
    grey, scale = _grey(image)
    ground = float(np.median(grey))
    darker, lighter = ground - grey, grey - ground
    # Ink is dark; a drawing in chalk on a board is the other way round.
    contrast = darker if darker.max() >= LEAST_CONTRAST else lighter
    most = float(np.percentile(contrast, 99.8))
    if most < LEAST_CONTRAST:
        raise ToolError("the image shows no lines that stand out from the ground; it must be a geometry diagram")
    strength = np.clip(contrast / most, 0, 1).astype(np.float32)
    mask = strength >= INK_SHARE
    if mask.mean() > 0.4:
        raise ToolError("the image is no line drawing: too much of it is covered; crop the diagram first")
    return _ink_in_parts(strength, mask, scale)


def _grey(image: Image.Image) -> tuple[Grey, float]:
    scale = max(1.0, max(image.size) / MAX_SIDE_PX)
    size = (round(image.width / scale), round(image.height / scale))
    if min(size) < MIN_SIDE_PX:
        raise ToolError(f"the image is only {min(image.size)} pixels high or wide; it must be a whole diagram")
    picture = image.convert("L")
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(picture, np.float32), scale


def _ink_in_parts(strength: Grey, mask: Mask, scale: float) -> Ink:
    count, names, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    if count - 1 > MAX_PARTS:
        raise ToolError(f"the image has {count - 1} separate pieces of ink; a diagram has at most {MAX_PARTS}")
    most = max(14.0, MAX_GLYPH * max(mask.shape))
    glyphs: list[Glyph] = []
    figure = np.zeros_like(mask)
    dashed = _join_dashes(names, stats, most, figure)
    for number in range(1, count):
        left, top, width, height, area = (int(value) for value in stats[number])
        part = names[top : top + height, left : left + width] == number
        if number in dashed:
            continue
        if width <= most and height <= most:
            if area >= 3:
                shape = np.where(_grown(part), strength[top : top + height, left : left + width], 0)
                glyphs.append(
                    Glyph(left=left, top=top, right=left + width, bottom=top + height, shape=shape.astype(np.float32))
                )
        else:
            figure[top : top + height, left : left + width] |= part
    return Ink(strength=strength, figure=figure, glyphs=tuple(glyphs), scale=scale)


def _join_dashes(names: Numbers, stats: Numbers, most: float, figure: Mask) -> set[int]:
    """Draws dashed lines as full ones into ``figure``; the pieces of ink that they consist of."""
    found = []
    for number, (left, top, width, height, _) in enumerate(stats):
        if number and max(width, height) <= most:
            part = names[top : top + height, left : left + width] == number
            dash = dash_of(number, part, left, top, max(names.shape))
            found += [dash] if dash else []
    lines = dashed_lines(found)
    for line in lines:
        ends = [line[0].middle - line[0].length / 2 * _way(line), line[-1].middle + line[-1].length / 2 * _way(line)]
        one, other = ((round(at.real - 0.5), round(at.imag - 0.5)) for at in ends)
        drawn = cv2.line(figure.astype(np.uint8), one, other, 1, 2)
        figure |= drawn.astype(bool)
    return {dash.number for line in lines for dash in line}


def _way(line: tuple[Dash, ...]) -> complex:
    along = line[-1].middle - line[0].middle
    return along / abs(along)


def _grown(part: Mask) -> Mask:
    """The part with the faint fringe of its ink."""
    return np.asarray(cv2.dilate(part.astype(np.uint8), np.ones((3, 3), np.uint8)), bool)


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
"""Digits that characters between digits are, when they look like capitals."""


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
            pictures.append(square(printed_character(name, default, size, enlarged)).ravel())
    with np.load(TYPEFACES) as kept:
        names += [str(name) for name in kept["names"]]
        rows = kept["pictures"].reshape(len(kept["names"]), -1).astype(np.float32)
    pictures += list(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return tuple(names), np.stack(pictures), np.array([name in LOWER for name in names])


def printed_character(name: str, font: ImageFont.FreeTypeFont, size: int, enlarged: float) -> Grey:
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
