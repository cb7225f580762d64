"""SVG drawn by matplotlib's Agg, with the exact visible pixels of every element.

The same outlines are drawn twice: as they are, and each in a flat colour of its element and all else in black, without
smoothing. The second picture is the map of regions. What the drawing libraries of the looks write is read (shapes,
groups, ``use``, nested ``svg``, style sheets, one line of text); what else an SVG may hold is a ValueError. Shapes are
filled by the rule "nonzero", and the opacity of a group is that of each of its parts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
from PIL import Image, ImageColor

from saccade.gym.looks.agg import InkedOutline, rastered
from saccade.gym.looks.fonts import FACES
from saccade.gym.looks.svg_letters import lettering
from saccade.gym.looks.svg_paths import Place, box_outline, ellipse_outline, path_outline, run_outline
from saccade.gym.looks.svg_styles import PROPERTIES, StyledPart, StyleSheet, declarations, style_sheet
from saccade.gym.rendering import SeenRegion, regions_of

if TYPE_CHECKING:
    from matplotlib.path import Path

MODULES = ("matplotlib",)
"""What a look that is drawn by this module needs; the extra is ``gym``."""

_HOLDERS = frozenset({"defs", "symbol", "style", "desc", "title", "metadata"})
_UNDRAWN = ("clip-path", "mask", "filter")
_SHAPES = frozenset({"path", "line", "polyline", "polygon", "rect", "circle", "ellipse"})
_NOT_INHERITED = ("opacity", "display")
_BLACK = {
    **{"fill": "black", "stroke": "none", "fill-opacity": "1", "stroke-opacity": "1", "stroke-width": "1"},
    **{"stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", "font-size": "16"},
    **{"font-family": "", "font-weight": "normal", "text-anchor": "start", "color": "black", "visibility": "visible"},
}
_NUMBERS = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MOVES = re.compile(r"(\w+)\s*\(([^)]*)\)")
_BOLD = ("bold", "bolder", "600", "700", "800", "900")
_HREF = "{http://www.w3.org/1999/xlink}href"

Matrix = tuple[float, float, float, float, float, float]
"""As in SVG: a, b, c, d, e, f."""

PLAIN_MATRIX: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnSvg:
    """A picture, RGB, and the regions in it."""

    image: Image.Image
    regions: tuple[SeenRegion, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Around:
    """What an element inherits."""

    style: Mapping[str, str]
    matrix: Matrix
    opacity: float
    number: int
    chain: tuple[StyledPart, ...]
    size: Place
    """Of the viewport, in its own units."""


def draw_svg(
    root: ElementTree.Element, names: Mapping[str, str], *, faces: Sequence[str] = ("sans",), image_index: int = 0
) -> DrawnSvg:
    """An SVG's picture and the regions of its elements; ``names`` are the elements by the ids of the SVG."""
    elements = tuple(dict.fromkeys(names.values()))
    numbers = {element: number for number, element in enumerate(elements, 1)}
    width, height = (round(_length(root.get(side, "0"), 0)) for side in ("width", "height"))
    reader = _SvgReader(root, {mark: numbers[element] for mark, element in names.items()}, faces)
    start = _Around(style=_BLACK, matrix=PLAIN_MATRIX, opacity=1.0, number=0, chain=(), size=(width, height))
    reader.read(root, start)
    picture = rastered(reader.found, width, height, is_flat=False)
    first = next((at for at, one in enumerate(reader.found) if one.number), 0)  # what lies below hides nothing
    shown = rastered(reader.found[first:], width, height, is_flat=True).view(np.int32)[..., 0] & 0xFFFFFF
    image = Image.frombuffer("RGBA", (width, height), picture, "raw", "RGBA", 0, 1).convert("RGB")
    return DrawnSvg(image=image, regions=regions_of(shown, elements, image_index))


class _SvgReader:
    """Collects what is to be drawn, in order."""

    def __init__(self, root: ElementTree.Element, numbers: Mapping[str, int], faces: Sequence[str]) -> None:
        self.found: list[InkedOutline] = []
        self._numbers = numbers
        self._faces = faces
        self._sheet: StyleSheet = style_sheet(root)
        self._by_id = {f"#{part.get('id')}": part for part in root.iter() if "id" in part.attrib}

    def read(self, part: ElementTree.Element, around: _Around) -> None:
        """An element with all that is in it."""
        tag = part.tag.rpartition("}")[2]
        if tag in _HOLDERS:
            return
        seen = self._context_inside(part, tag, around)
        if seen is None:
            return
        if tag in _SHAPES:
            self._ink(_outline(part, tag, seen.size), seen, seen.matrix)
        elif tag == "text":
            self._text(part, seen)
        elif tag == "use":
            at = (1.0, 0.0, 0.0, 1.0, _number(part, "x"), _number(part, "y"))
            there = part.attrib[_HREF] if _HREF in part.attrib else part.attrib["href"]
            self.read(self._by_id[there], _with_matrix(seen, _times(seen.matrix, at)))
        elif tag in ("g", "svg"):
            inside = _viewed(part, seen) if tag == "svg" else seen
            for child in part:
                self.read(child, inside)
        else:
            raise ValueError(f"an SVG has a <{tag}>, which the looks cannot draw")

    def _context_inside(self, part: ElementTree.Element, tag: str, around: _Around) -> _Around | None:
        """What holds for an element and what is in it; None where it is not drawn."""
        given = part.attrib
        for name in _UNDRAWN:
            if given.get(name, "none") != "none":
                raise ValueError(f"an SVG has a {name} on a <{tag}>, which the looks cannot draw")
        chain = around.chain
        own = {name: value for name, value in given.items() if name in PROPERTIES}
        if self._sheet.rules:
            styled = StyledPart(
                tag=tag,
                identity=given.get("id", ""),
                classes=frozenset(given.get("class", "").split()),
                attributes=given,
            )
            chain = (*chain, styled)
            own |= self._sheet.declarations_of(chain)
        if "style" in given:
            own |= declarations(given["style"])
        if own.get("display") == "none":
            return None
        opacity = around.opacity * float(own.get("opacity", "1"))
        style = around.style
        if own:
            style = {**style, **{name: own[name] for name in own if own[name] != "inherit"}}
            for name in _NOT_INHERITED:
                style.pop(name, None)
        matrix = around.matrix
        for kind, numbers in _MOVES.findall(given.get("transform", "")):
            matrix = _times(matrix, _move(kind, [float(number) for number in _NUMBERS.findall(numbers)]))
        number = self._numbers.get(given.get("id", ""), around.number)
        return _Around(style=style, matrix=matrix, opacity=opacity, number=number, chain=chain, size=around.size)

    def _ink(self, outline: "Path", seen: _Around, matrix: Matrix) -> None:
        style = seen.style
        if style["visibility"] != "visible" or not len(outline):
            return
        fill = _paint(style, "fill", seen.opacity)
        stroke = _paint(style, "stroke", seen.opacity)
        across = abs(seen.matrix[0] * seen.matrix[3] - seen.matrix[1] * seen.matrix[2]) ** 0.5
        width = _length(style["stroke-width"], 0) * across
        if stroke is not None and not width:
            stroke = None
        if fill is None and stroke is None:
            return
        self.found.append(
            InkedOutline(
                outline=outline,
                matrix=matrix,
                fill=fill,
                stroke=stroke,
                width=width,
                dashes=tuple(float(n) * across for n in _NUMBERS.findall(style["stroke-dasharray"])),
                cap=style["stroke-linecap"],
                join=style["stroke-linejoin"],
                number=seen.number,
            )
        )

    def _text(self, part: ElementTree.Element, seen: _Around) -> None:
        """A text and its ``tspan`` lines, each at its own place."""
        x, y = _number(part, "x") + _number(part, "dx"), _number(part, "y") + _number(part, "dy")
        self._line(part.text or "", x, y, seen)
        for child in part:
            inside = self._context_inside(child, child.tag.rpartition("}")[2], seen)
            x, y = _number(child, "x", x), _number(child, "y", y) + _number(child, "dy")
            if inside is not None:
                self._line(child.text or "", x, y, inside)

    def _line(self, text: str, x: float, y: float, seen: _Around) -> None:
        words = " ".join(text.split())
        if not words:
            return
        style = seen.style
        size, family = _length(style["font-size"], 16), style["font-family"]
        named = (face for face in FACES if FACES[face][0] == family.split(",")[0].strip("'\" "))
        written = lettering(next(named, self._faces[0]), words, is_bold=style["font-weight"] in _BOLD)
        x -= written.advance * size * {"start": 0.0, "middle": 0.5, "end": 1.0}[style["text-anchor"]]
        up = {"central": (written.ascent + written.descent) / 2, "hanging": 0.8 * written.ascent}
        y += size * up.get(style.get("dominant-baseline", ""), 0.0)
        self._ink(written.outline, seen, _times(seen.matrix, (size, 0.0, 0.0, size, x, y)))


def _outline(part: ElementTree.Element, tag: str, size: Place) -> "Path":
    if tag == "path":
        return path_outline(part.get("d", ""))
    if tag == "line":
        ends = [(_number(part, "x1"), _number(part, "y1")), (_number(part, "x2"), _number(part, "y2"))]
        return run_outline(ends, is_closed=False)
    if tag in ("polyline", "polygon"):
        numbers = [float(number) for number in _NUMBERS.findall(part.get("points", ""))]
        return run_outline(list(zip(numbers[::2], numbers[1::2])), is_closed=tag == "polygon")
    if tag == "rect":
        wide, high = (_length(part.get(side, "0"), whole) for side, whole in zip(("width", "height"), size))
        return box_outline(_number(part, "x"), _number(part, "y"), wide, high, _number(part, "rx"))
    across = _number(part, "r" if tag == "circle" else "rx")
    down = across if tag == "circle" else _number(part, "ry")
    return ellipse_outline(_number(part, "cx"), _number(part, "cy"), across, down)


def _viewed(part: ElementTree.Element, seen: _Around) -> _Around:
    """What is in an ``svg``, in the units of its view box: as large as fits, in the middle."""
    wide, high = (_length(part.get(side, "100%"), whole) for side, whole in zip(("width", "height"), seen.size))
    if "viewBox" not in part.attrib:
        return _with_matrix(seen, seen.matrix, (wide, high))
    left, top, across, down = (float(number) for number in _NUMBERS.findall(part.attrib["viewBox"]))
    scale = min(wide / across, high / down)
    x, y = (wide - across * scale) / 2 - left * scale, (high - down * scale) / 2 - top * scale
    return _with_matrix(seen, _times(seen.matrix, (scale, 0.0, 0.0, scale, x, y)), (across, down))


def _with_matrix(seen: _Around, matrix: Matrix, size: Place | None = None) -> _Around:
    return _Around(
        style=seen.style,
        matrix=matrix,
        opacity=seen.opacity,
        number=seen.number,
        chain=seen.chain,
        size=size or seen.size,
    )


def _times(outer: Matrix, inner: Matrix) -> Matrix:
    """The inner matrix first, then the outer one."""
    a, b, c, d, e, f = outer
    p, q, r, s, t, u = inner
    return (a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f)


def _move(kind: str, numbers: Sequence[float]) -> Matrix:
    if kind == "translate":
        return (1.0, 0.0, 0.0, 1.0, numbers[0], numbers[1] if len(numbers) > 1 else 0.0)
    if kind == "scale":
        return (numbers[0], 0.0, 0.0, numbers[-1], 0.0, 0.0)
    if kind == "rotate":
        angle = np.radians(numbers[0])
        cos, sin = float(np.cos(angle)), float(np.sin(angle))
        x, y = numbers[1:] if len(numbers) == 3 else (0.0, 0.0)
        return (cos, sin, -sin, cos, x - cos * x + sin * y, y - sin * x - cos * y)
    if kind == "matrix" and len(numbers) == 6:
        a, b, c, d, e, f = numbers
        return (a, b, c, d, e, f)
    raise ValueError(f"an SVG has the transform {kind}{tuple(numbers)}, which the looks cannot draw")


def _number(part: ElementTree.Element, name: str, missing: float = 0.0) -> float:
    return float(part.attrib[name]) if name in part.attrib else missing


def _length(text: str, whole: float) -> float:
    """In pixels; a percentage is of ``whole``, an em of sixteen pixels."""
    found = _NUMBERS.match(text)
    if found is None:
        raise ValueError(f"an SVG has the length {text!r}, which is no number")
    number, unit = float(found[0]), text[found.end() :].strip()
    factors = {"": 1.0, "px": 1.0, "pt": 4 / 3, "%": whole / 100, "em": 16.0}
    return number * factors[unit]


def _paint(style: Mapping[str, str], name: str, opacity: float) -> tuple[float, float, float, float] | None:
    """A colour with its opacity; None where nothing is to be seen."""
    said = style[name] if style[name] != "currentColor" else style["color"]
    colour = _colour(said)
    strength = colour[3] * opacity * float(style[f"{name}-opacity"])
    return None if strength < 0.02 else (*colour[:3], strength)


@lru_cache(maxsize=512)
def _colour(said: str) -> tuple[float, float, float, float]:
    if said in ("none", "transparent"):
        return (0.0, 0.0, 0.0, 0.0)
    if said.startswith("rgba("):
        red, green, blue, alpha = (float(number) for number in _NUMBERS.findall(said))
        return (red / 255, green / 255, blue / 255, alpha)
    red, green, blue = ImageColor.getrgb(said)[:3]
    return (red / 255, green / 255, blue / 255, 1.0)
