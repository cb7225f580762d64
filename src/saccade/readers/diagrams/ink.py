"""What is drawn in a picture: its ink, parted into characters and the figure."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from saccade.errors import ToolError
from saccade.readers.diagrams.dashes import Dash, dash_of, dashed_lines

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
    return _parted(strength, mask, scale)


def _grey(image: Image.Image) -> tuple[Grey, float]:
    scale = max(1.0, max(image.size) / MAX_SIDE_PX)
    size = (round(image.width / scale), round(image.height / scale))
    if min(size) < MIN_SIDE_PX:
        raise ToolError(f"the image is only {min(image.size)} pixels high or wide; it must be a whole diagram")
    picture = image.convert("L")
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(picture, np.float32), scale


def _parted(strength: Grey, mask: Mask, scale: float) -> Ink:
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
    """With the faint fringe of its ink."""
    return np.asarray(cv2.dilate(part.astype(np.uint8), np.ones((3, 3), np.uint8)), bool)
