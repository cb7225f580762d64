"""SVG drawn by resvg, with the exact visible pixels of every element.

The same drawing is rendered twice: as it is, and with every element in a flat colour of its own and all else in black,
without smoothing. The second picture is the map of regions. Fonts are those that matplotlib ships and no others, so
that every machine draws the same pixels. resvg and matplotlib are in the extra ``gym``.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box
from saccade.gym.rendering import SeenRegion
from saccade.tasks.drawing import Colour

MODULES = ("resvg_py", "matplotlib")
"""What a look that is drawn by this module needs; the extra is ``gym``."""

FACES: Mapping[str, tuple[str, str]] = {
    "sans": ("DejaVu Sans", "DejaVuSans"),
    "serif": ("DejaVu Serif", "DejaVuSerif"),
    "mono": ("DejaVu Sans Mono", "DejaVuSansMono"),
    "times": ("STIXGeneral", "STIXGeneral"),
}
"""Fonts by the name that looks use: the family in SVG, and the start of its files."""

_HOLDERS = frozenset({"defs", "symbol", "clipPath", "marker", "mask", "style", "desc", "title", "metadata"})
_UNPAINTED = ("none", "transparent")


class Sheet:
    """An SVG that is written element by element; what is drawn later lies above.

    ``element`` names what is drawn; "" draws what belongs to no element.
    """

    def __init__(self, width: int, height: int, ground: Colour | str = "#ffffff") -> None:
        self.width, self.height = width, height
        self.names: dict[str, str] = {}
        self._parts: list[str] = []
        self.rect("", 0, 0, width, height, fill=_paint(ground))

    def rect(self, element: str, x: float, y: float, width: float, height: float, **style: str | float) -> None:
        """A rectangle; ``rx`` rounds its corners."""
        self._add(element, "rect", {"x": x, "y": y, "width": width, "height": height, **style})

    def circle(self, element: str, x: float, y: float, radius: float, **style: str | float) -> None:
        self._add(element, "circle", {"cx": x, "cy": y, "r": radius, **style})

    def line(self, element: str, points: Sequence[tuple[float, float]], **style: str | float) -> None:
        """An open run of straight pieces."""
        at = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        self._add(element, "polyline", {"points": at, "fill": "none", **style})

    def polygon(self, element: str, points: Sequence[tuple[float, float]], **style: str | float) -> None:
        at = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        self._add(element, "polygon", {"points": at, **style})

    def path(self, element: str, commands: str, **style: str | float) -> None:
        """A path by SVG's commands."""
        self._add(element, "path", {"d": commands, **style})

    def text(
        self,
        element: str,
        words: str,
        x: float,
        y: float,
        size: float,
        *,
        face: str = "sans",
        anchor: str = "middle",
        **style: str | float,
    ) -> None:
        """A line of text whose middle height is about ``y``; ``anchor`` is start, middle or end."""
        given: dict[str, str | float] = {"x": x, "y": y + 0.36 * size, "font-size": size}
        given |= {"font-family": FACES[face][0], "text-anchor": anchor}
        self._add(element, "text", {**given, **style}, escape(words))

    def raw(self, element: str, svg: str) -> None:
        """Markup that is there already, as one element."""
        self._parts.append(f"<g{self._identity(element)}>{svg}</g>")

    def svg(self) -> str:
        """The whole drawing."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {self.width} {self.height}">{"".join(self._parts)}</svg>'
        )

    def drawn(self, *faces: str, image_index: int = 0) -> "DrawnSvg":
        """The picture and the regions of all elements."""
        return drawn(self.svg(), self.names, faces=faces or ("sans",), image_index=image_index)

    def _add(self, element: str, tag: str, style: Mapping[str, str | float], inside: str = "") -> None:
        given = "".join(f" {name.replace('_', '-')}={quoteattr(_text(value))}" for name, value in style.items())
        self._parts.append(f"<{tag}{self._identity(element)}{given}>{inside}</{tag}>")

    def _identity(self, element: str) -> str:
        """One element may be drawn in several pieces: each piece has an id of its own."""
        if not element:
            return ""
        mark = f"e{len(self.names)}"
        self.names[mark] = element
        return f' id="{mark}"'


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


def regions_of(shown: NDArray[np.int32], elements: Sequence[str], image_index: int = 0) -> tuple[SeenRegion, ...]:
    """Regions in a map (height, width) of numbers: 0 is nothing, n the n-th element."""
    rows, columns = np.nonzero(shown)
    numbers = shown[rows, columns]
    count = len(elements) + 1
    top, left = np.full(count, 1 << 30), np.full(count, 1 << 30)
    bottom, right = np.full(count, -1), np.full(count, -1)
    np.minimum.at(top, numbers, rows)
    np.minimum.at(left, numbers, columns)
    np.maximum.at(bottom, numbers, rows)
    np.maximum.at(right, numbers, columns)
    found = []
    for number in range(1, count):
        if bottom[number] < 0:
            continue
        y1, y2, x1, x2 = int(top[number]), int(bottom[number]) + 1, int(left[number]), int(right[number]) + 1
        cover = shown[y1:y2, x1:x2] == number
        found.append(
            SeenRegion(
                element=elements[number - 1],
                box=Box(x1, y1, x2, y2),
                cover=None if cover.all() else cover,
                image_index=image_index,
            )
        )
    return tuple(found)


def _rendered(svg: str, faces: Sequence[str], dpi: float, *, is_flat: bool) -> Image.Image:
    import resvg_py

    png = resvg_py.svg_to_bytes(
        svg_string=svg,
        background="#000000" if is_flat else "#ffffff",
        skip_system_fonts=True,
        font_files=[file for face in faces for file in font_files(face)[: 2 if "bold" in svg else 1]],
        dpi=dpi,
        shape_rendering="crisp_edges" if is_flat else "geometric_precision",
        text_rendering="optimize_speed" if is_flat else "optimize_legibility",
    )
    return Image.open(io.BytesIO(png)).convert("RGB")


@cache
def font_files(face: str) -> tuple[str, ...]:
    """The font's files in matplotlib's data, found without importing it: regular and bold."""
    spec = find_spec("matplotlib")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "mpl-data" / "fonts" / "ttf"
    start = FACES[face][1]
    bold = f"{start}Bol.ttf" if start.startswith("STIX") else f"{start}-Bold.ttf"
    return (str(folder / f"{start}.ttf"), str(folder / bold))


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


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _paint(colour: Colour | str) -> str:
    return colour if isinstance(colour, str) else hex_of(colour)


def hex_of(colour: Colour) -> str:
    """A colour as SVG writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
