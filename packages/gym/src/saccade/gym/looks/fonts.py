"""The fonts of looks: those that matplotlib ships and no others, so that every machine draws the same pixels."""

import atexit
import io
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont

FACES: Mapping[str, tuple[str, str]] = {
    "sans": ("DejaVu Sans", "DejaVuSans"),
    "serif": ("DejaVu Serif", "DejaVuSerif"),
    "mono": ("DejaVu Sans Mono", "DejaVuSansMono"),
    "times": ("STIXGeneral", "STIXGeneral"),
}
"""Fonts by the name that looks use: the family in SVG, and the start of its files."""

WRITTEN = (*range(0x20, 0x7F), *range(0xA0, 0x180), 0x2126, 0x03A9, 0x03BC, *range(0x2010, 0x2027), 0x2212, 0x221E)
"""Characters that charts may hold: Latin, dashes, quotes, minus, ohm, micro."""


@cache
def font_files(face: str) -> tuple[str, str]:
    """The font's files in matplotlib's data, found without importing it: regular and bold."""
    spec = find_spec("matplotlib")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "mpl-data" / "fonts" / "ttf"
    start = FACES[face][1]
    bold = f"{start}Bol.ttf" if start.startswith("STIX") else f"{start}-Bold.ttf"
    return (str(folder / f"{start}.ttf"), str(folder / bold))


@lru_cache(maxsize=64)  # sizes follow levels, of which there is no end
def pillow_font(face: str, size: float, *, is_bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font as Pillow draws it, laid out by Pillow itself."""
    return ImageFont.truetype(font_files(face)[is_bold], size, layout_engine=ImageFont.Layout.BASIC)


def small_family(face: str) -> str:
    """What ``small_fonts`` calls a font: no font of the machine has the name."""
    return f"Saccade {face}"


@cache
def small_fonts(*faces: str) -> str:
    """A folder with these fonts cut down to ``WRITTEN`` and named by ``small_family``, for a library that reads fonts
    anew for each word that it measures. It is removed when this process ends.
    """
    folder = Path(tempfile.mkdtemp(prefix="saccade-fonts-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for face in faces:
        for file in font_files(face):
            _cut_down(Path(file), folder, small_family(face))
    return str(folder)


def _cut_down(file: Path, folder: Path, family: str) -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options(
        hinting=False, layout_features=["kern"], notdef_outline=True, name_IDs=["*"], drop_tables=["FFTM", "GDEF"]
    )
    whole = TTFont(io.BytesIO(file.read_bytes()))
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=WRITTEN)
    subsetter.subset(whole)
    for record in whole["name"].names:
        if record.nameID in (1, 16):
            record.string = family
    whole.save(folder / file.name)
