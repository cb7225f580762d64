"""Outlines of letters of the looks' fonts, by FreeType as matplotlib has it: without hints, in units of the size."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from saccade.gym.looks.fonts import font_files

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font, GlyphIndexType
    from matplotlib.path import Path

_SIZE = 100.0
"""Points at which glyphs are measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lettering:
    """A line of text of size 1, whose baseline starts at (0, 0); y points down."""

    outline: "Path"
    advance: float
    ascent: float
    descent: float
    """Below the baseline, negative."""


@lru_cache(maxsize=512)  # outlines are large: 20 letters take about 10 KiB
def lettering(face: str, words: str, *, is_bold: bool = False) -> Lettering:
    """The words in a font, kerned."""
    from matplotlib.ft2font import Kerning, LoadFlags
    from matplotlib.path import Path

    font = _font(font_files(face)[is_bold])
    font.clear()  # it keeps each glyph that it loads until then
    points, codes, at = [np.empty((0, 2))], [np.empty(0, dtype=np.uint8)], 0.0
    before: GlyphIndexType | None = None
    for letter in words:
        index = font.get_char_index(ord(letter))
        if before is not None:
            at += font.get_kerning(before, index, Kerning.UNFITTED) / 64
        glyph = font.load_glyph(index, flags=LoadFlags.NO_HINTING)
        verts, marks = font.get_path()
        points.append((verts + np.array([at, 0])) * np.array([1, -1]) / _SIZE)
        codes.append(marks.astype(np.uint8))
        at += glyph.linearHoriAdvance / 65536
        before = index
    return Lettering(
        outline=Path(np.concatenate(points), np.concatenate(codes)),
        advance=at / _SIZE,
        ascent=font.ascender / font.units_per_EM,
        descent=font.descender / font.units_per_EM,
    )


@cache
def _font(file: str) -> "FT2Font":
    from matplotlib.ft2font import FT2Font

    font = FT2Font(file)
    font.set_size(_SIZE, 72)
    return font
