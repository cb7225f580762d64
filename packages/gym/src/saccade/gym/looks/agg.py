"""Outlines drawn by matplotlib's Agg, smooth or in flat colours of their elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.path import Path

Rgba = tuple[float, float, float, float]
"""Each from 0 to 1."""


_CAPS: dict[str, Literal["butt", "round", "projecting"]] = {"butt": "butt", "round": "round", "square": "projecting"}
_JOINS: dict[str, Literal["miter", "round", "bevel"]] = {"miter": "miter", "round": "round", "bevel": "bevel"}


@dataclass(frozen=True, kw_only=True, slots=True)
class InkedOutline:
    """An outline with all that its look says of it."""

    outline: "Path"
    matrix: tuple[float, float, float, float, float, float]
    """Into pixels, y down: a, b, c, d, e, f as in SVG."""
    fill: Rgba | None
    stroke: Rgba | None
    width: float
    """Of the stroke, in pixels."""
    dashes: tuple[float, ...]
    cap: str
    join: str
    number: int
    """Of its element in the map of regions; 0 for none."""


def rastered(drawing: Sequence[InkedOutline], width: int, height: int, *, is_flat: bool) -> NDArray[np.uint8]:
    """RGBA pixels, (height, width, 4), of outlines above each other on white.

    In flat colours, on black: the element's number is red + 256 green, and no edge is smooth.
    """
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    renderer = RendererAgg(width, height, 72)
    context = renderer.new_gc()
    context.set_snap(False)
    context.set_antialiased(not is_flat)
    context.set_linewidth(0)
    renderer.draw_path(
        context, Path.unit_rectangle(), Affine2D.from_values(width, 0, 0, height, 0, 0), _grey(0.0 if is_flat else 1.0)
    )
    for one in drawing:
        flat = (one.number % 256 / 255, one.number // 256 / 255, 0.0, 1.0)
        a, b, c, d, e, f = one.matrix
        context.set_linewidth(one.width if one.stroke else 0)
        if one.stroke:
            _stroke(context, one, flat if is_flat else one.stroke)
        face = flat if is_flat and one.fill else one.fill
        renderer.draw_path(context, one.outline, Affine2D.from_values(a, -b, c, -d, e, height - f), face)
    return np.asarray(renderer.buffer_rgba())


def _grey(level: float) -> Rgba:
    return (level, level, level, 1.0)


def _stroke(context: "GraphicsContextBase", one: InkedOutline, colour: Rgba) -> None:
    context.set_foreground(colour, isRGBA=True)
    context.set_capstyle(_CAPS[one.cap])
    context.set_joinstyle(_JOINS[one.join])
    context.set_dashes(0, list(one.dashes) or None)
