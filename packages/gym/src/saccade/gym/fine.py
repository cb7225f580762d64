"""Fine print: symbols that a view of 64 pixels cannot show, whatever way it is shrunk.

A window is covered with tiles of 8 x 8 pixels that repeat one symbol, ink darker and ground lighter, so that every tile
has the mean of a plain one. On a canvas of 512 px a view of 64 px has one pixel for each tile: averaging gives the same
bytes for all symbols, and so does any filter whose weights add up to one everywhere (bilinear, bicubic, Lanczos), but
for the window's edge, where looks hide what is left under chance. A crop of an eighth of the canvas shows it as it is.
"""

from collections.abc import Callable
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from saccade.tasks.drawing import BACKGROUND, Colour

TILE_PX = 8
CANVAS_PX = 512
"""Canvases of fine print: eight pixels of it are one of a view of 64."""

CONTRAST = 150
WINDOW: Colour = BACKGROUND

Tile = NDArray[np.bool_]

_ROW, _COLUMN = np.indices((TILE_PX, TILE_PX))
_TEXTURES: dict[str, Callable[[], Tile]] = {
    "plain": lambda: np.zeros((TILE_PX, TILE_PX), dtype=bool),
    "rows": lambda: _ROW % 4 < 2,
    "columns": lambda: _COLUMN % 4 < 2,
    "checks": lambda: (_ROW // 2 + _COLUMN // 2) % 2 == 0,
    "dots": lambda: (_ROW % 4 < 2) & (_COLUMN % 4 < 2),
    "slants": lambda: (_ROW + _COLUMN) % 4 < 2,
}
TEXTURES = tuple(_TEXTURES)
LETTERS = ("K", "L", "N", "P", "T", "V", "X", "Z")
"""Capitals that are told apart at seven pixels; none is the letter of an option of a choice, which begin with A."""
DIGITS = tuple("0123456789")
ARROWS = ("up", "right", "down", "left")

_ARROW_UP = ("...##...", "..####..", ".######.", "...##...", "...##...", "...##...", "...##...", "........")


@cache
def tile(symbol: str) -> Tile:
    """Which pixels of a tile are ink: a texture, a letter, a digit or an arrow by its name."""
    if symbol in _TEXTURES:
        return _TEXTURES[symbol]()
    if symbol in ARROWS:
        up = np.array([[dot == "#" for dot in row] for row in _ARROW_UP])
        return np.rot90(up, -ARROWS.index(symbol))
    return _letter(symbol)


def _letter(symbol: str) -> Tile:
    """A letter of Pillow's own bitmap font, cut out and laid into the tile; ValueError where it is larger."""
    image = Image.new("1", (16, 16))
    ImageDraw.Draw(image).text((4, 2), symbol, fill=1, font=ImageFont.load_default_imagefont())
    ink = np.asarray(image, dtype=bool)
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if max(cut.shape) > TILE_PX - 1:
        raise ValueError(f"{symbol!r} is {cut.shape[1]} x {cut.shape[0]} pixels and leaves no gap in a tile")
    found = np.zeros((TILE_PX, TILE_PX), dtype=bool)
    top, left = (TILE_PX - cut.shape[0]) // 2, (TILE_PX - cut.shape[1]) // 2
    found[top : top + cut.shape[0], left : left + cut.shape[1]] = cut
    return found


@cache
def _weighted(symbol: str, base: int) -> NDArray[np.uint8]:
    """A tile in grey with exactly the sum of a plain one of this grey."""
    ink = tile(symbol)
    count, area = int(ink.sum()), TILE_PX * TILE_PX
    if count == 0:
        return np.full((TILE_PX, TILE_PX), base, dtype=np.uint8)
    values = np.where(ink, base - round(CONTRAST * (1 - count / area)), base + round(CONTRAST * count / area))
    missing = base * area - int(values.sum())
    ground = np.flatnonzero(~ink)
    share, rest = divmod(missing, len(ground))
    flat = values.ravel()
    flat[ground] += share
    flat[ground[:rest]] += 1
    if flat.min() < 0 or flat.max() > 255:
        raise ValueError(f"grey {base} is too dark or too light for fine print of contrast {CONTRAST}")
    return flat.reshape(TILE_PX, TILE_PX).astype(np.uint8)


def fine_block(symbol: str, columns: int, rows: int, base: int = WINDOW[0]) -> NDArray[np.uint8]:
    """A window of so many tiles, RGB, (8 rows, 8 columns, 3)."""
    block = np.tile(_weighted(symbol, base), (rows, columns))
    return np.repeat(block[:, :, None], 3, axis=2)


MEANINGS = MappingProxyType({"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)})
"""Where arrows point: columns and rows."""
