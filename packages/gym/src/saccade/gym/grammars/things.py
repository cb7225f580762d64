"""Things: coloured shapes of some size on a plain ground, apart from each other.

Axes: ``clutter`` (how many), ``size`` (how small), ``likeness`` (how few colours and shapes there are to tell by).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, GAP_PX, SHAPES

AXES = ("clutter", "size", "likeness")


@dataclass(frozen=True, kw_only=True, slots=True)
class ThingsLayout:
    """How many things there are, and how large, on a square canvas: at the levels 0, 0.5 and 1."""

    side_px: int = 256
    counts: tuple[int, int, int] = (4, 8, 16)
    radii_px: tuple[float, float, float] = (26, 16, 9)
    large: float = 1.5
    """How much larger a large thing is than a small one; 1: all are of one size and none has an attribute ``size``."""
    kinds: tuple[int, int, int] = (6, 5, 3)
    """Colours that occur at most, at the levels of ``likeness``."""
    fewer: int = 0
    """By so many the number of colours varies downwards, so that a level does not tell it."""


def things_grammar(name: str, layout: ThingsLayout) -> Grammar:
    """The grammar of things with this layout."""
    return Grammar(name=name, draw=things_drawn(layout), axes=AXES)


def things_drawn(layout: ThingsLayout) -> Callable[[Generator, Levels], SceneState]:
    """Draws things of random colours, shapes and sizes, each in a cell of its own."""

    def draw(rng: Generator, levels: Levels) -> SceneState:
        most = levels.whole("clutter", *layout.counts)
        count = int(rng.integers(max(3, most * 2 // 3), most + 1))
        small = min(levels.knob("size", *layout.radii_px), largest_radius(count, layout.side_px) / layout.large)
        kinds = levels.whole("likeness", *layout.kinds)
        if layout.fewer:
            kinds = max(2, kinds - int(rng.integers(layout.fewer + 1)))
        colours = [COLOUR_NAMES[int(i)] for i in rng.permutation(len(COLOUR_NAMES))[:kinds]]
        shapes = [SHAPES[int(i)] for i in rng.permutation(len(SHAPES))[: kinds if layout.fewer else max(3, kinds - 1)]]
        elements = []
        for index, center in enumerate(spread(rng, count, small * layout.large, layout.side_px)):
            colour, shape = colours[int(rng.integers(len(colours)))], shapes[int(rng.integers(len(shapes)))]
            elements.append(thing(index, colour, shape, center, small, bool(rng.integers(2)), layout.large))
        return SceneState(elements=tuple(elements), width=layout.side_px, height=layout.side_px)

    return draw


def thing(
    index: int, colour: str, shape: str, center: Point, small_px: float, is_large: bool = False, large: float = 1.0
) -> Element:
    """A thing of the scene."""
    attributes = {"colour": colour, "shape": shape}
    if large != 1.0:
        attributes["size"] = "large" if is_large else "small"
    radius = small_px * (large if is_large else 1.0)
    return Element(
        id=f"thing{index}",
        kind="thing",
        name=f"{colour} {shape}",
        attributes=attributes,
        numbers={"radius": radius},
        center=center,
    )


def largest_radius(count: int, side_px: int) -> float:
    """The radius of the largest circles of which so many find a place by ``spread``."""
    return (side_px / math.ceil(math.sqrt(count)) - GAP_PX) / 2


def spread(rng: Generator, count: int, radius: float, side_px: int) -> list[Point]:
    """Centres with whole coordinates of circles of this radius that do not touch, in random order, on a square canvas.

    Each lies in a random cell of a grid, shifted as far as the cell allows. ``ValueError`` when they do not fit.
    """
    finest = math.floor(side_px / (2 * radius + GAP_PX) + 1e-9)
    if count > finest**2:
        raise ValueError(
            f"{count} circles of radius {radius} px do not fit into {side_px} px; use fewer or smaller ones"
        )
    cells = min(finest, math.ceil(math.sqrt(1.5 * count)))
    cell_px = side_px / cells
    slack = math.floor((cell_px - 2 * radius - GAP_PX) / 2)
    centers = []
    for cell in rng.permutation(cells**2)[:count]:
        row, column = divmod(int(cell), cells)
        x, y = (int(shift) for shift in rng.integers(-slack, slack + 1, size=2))
        centers.append(Point(math.floor((column + 0.5) * cell_px) + x, math.floor((row + 0.5) * cell_px) + y))
    return centers
