"""SVG drawn by resvg, with the exact visible pixels of every element.

The same drawing is rendered twice: as it is, and with every element in a flat colour of its own and all else in black,
without smoothing. The second picture is the map of regions. resvg and matplotlib, whose fonts are used, are in the
extra ``gym``.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from saccade.gym.looks.fonts import small_font_file
from saccade.gym.rendering import SeenRegion, regions_of

MODULES = ("resvg_py", "matplotlib")
"""What a look that is drawn by this module needs; the extra is ``gym``."""

_HOLDERS = frozenset({"defs", "symbol", "clipPath", "marker", "mask", "style", "desc", "title", "metadata"})
_UNPAINTED = ("none", "transparent")


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnSvg:
    """A picture, RGB, and the regions in it."""

    image: Image.Image
    regions: tuple[SeenRegion, ...]


def drawn(
    svg: str, names: Mapping[str, str], *, faces: Sequence[str] = ("sans",), image_index: int = 0, dpi: float = 96
) -> DrawnSvg:
    """A drawing's picture and the regions of its elements; ``names`` are the elements by the ids of the SVG."""
    elements = tuple(dict.fromkeys(names.values()))
    numbers = {element: number for number, element in enumerate(elements, 1)}
    root = ElementTree.fromstring(svg)
    _flatten(root, {mark: numbers[element] for mark, element in names.items()}, 0, is_filled=True, is_stroked=False)
    image = _rendered(svg, faces, dpi, is_flat=False)
    flat = np.asarray(_rendered(ElementTree.tostring(root, encoding="unicode"), faces, dpi, is_flat=True))
    shown = flat[..., 0].astype(np.int32) << 16 | flat[..., 1].astype(np.int32) << 8 | flat[..., 2]
    return DrawnSvg(image=image, regions=regions_of(shown, elements, image_index))


def _rendered(svg: str, faces: Sequence[str], dpi: float, *, is_flat: bool) -> Image.Image:
    import resvg_py

    weights = (False, True) if "bold" in svg else (False,)
    png = resvg_py.svg_to_bytes(
        svg_string=svg,
        background="#000000" if is_flat else "#ffffff",
        skip_system_fonts=True,
        font_files=[small_font_file(face, is_bold=is_bold) for face in faces for is_bold in weights],
        dpi=dpi,
        shape_rendering="crisp_edges" if is_flat else "geometric_precision",
        text_rendering="optimize_speed" if is_flat else "optimize_legibility",
    )
    return Image.open(io.BytesIO(png)).convert("RGB")


def _flatten(
    part: ElementTree.Element, numbers: Mapping[str, int], paint: int, *, is_filled: bool, is_stroked: bool
) -> None:
    """Give every shape the flat colour of its element, and black where it has none."""
    if part.tag.rpartition("}")[2] in _HOLDERS:
        return
    paint = numbers.get(part.get("id", ""), paint)
    style = {}
    for piece in part.get("style", "").split(";"):
        name, colon, value = piece.partition(":")
        if colon:
            style[name.strip()] = value.strip()
    given = {name: _taken(part, style, name) for name in ("fill", "stroke")}
    is_filled = is_filled if given["fill"] is None else given["fill"] not in _UNPAINTED
    is_stroked = is_stroked if given["stroke"] is None else given["stroke"] not in _UNPAINTED
    for name in ("opacity", "fill-opacity", "stroke-opacity"):
        opacity = _taken(part, style, name)
        if opacity is not None and float(opacity) < 0.02:
            is_filled, is_stroked = is_filled and name == "stroke-opacity", is_stroked and name == "fill-opacity"
    if part.attrib.pop("data-line", None) is not None:  # a style sheet says that it is not filled
        is_filled, is_stroked = False, True
    colour = f"#{paint:06x}"
    style["fill"], style["stroke"] = colour if is_filled else "none", colour if is_stroked else "none"
    style |= {"opacity": "1", "fill-opacity": "1", "stroke-opacity": "1"}
    part.set("style", ";".join(f"{name}:{value}" for name, value in style.items()))
    for child in part:
        _flatten(child, numbers, paint, is_filled=is_filled, is_stroked=is_stroked)


def _taken(part: ElementTree.Element, style: dict[str, str], name: str) -> str | None:
    """A property, removed from where it stands: a style before an attribute."""
    given = part.attrib.pop(name, None)
    return style.pop(name) if name in style else given
