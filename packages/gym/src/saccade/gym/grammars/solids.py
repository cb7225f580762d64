"""Solids on a floor, seen by a camera: spheres, cubes, cylinders and cones of two sizes and two finishes.

Axes: ``clutter`` (how many), ``size`` (how small), ``occlusion`` (how near to each other they stand).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState

AXES = ("clutter", "size", "occlusion")
KINDS = ("sphere", "cube", "cylinder", "cone")
FINISHES = ("shiny", "dull")
LARGE = 1.7


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewpoint:
    """A pinhole camera that looks at the middle of the floor; angles in degrees, lengths in the world's unit."""

    azimuth: float
    """From where it looks, about the vertical: 0 is from -y."""
    elevation: float = 32.0
    distance: float = 11.0
    opening: float = 44.0
    """Width of what it sees."""

    def place(self) -> tuple[float, float, float]:
        """Where it stands."""
        turn, lift = math.radians(self.azimuth), math.radians(self.elevation)
        flat = self.distance * math.cos(lift)
        return (-flat * math.sin(turn), -flat * math.cos(turn), 0.6 + self.distance * math.sin(lift))


@dataclass(frozen=True, kw_only=True, slots=True)
class SolidsState(SceneState):
    """Elements of the kind "solid" have numbers x, y, z (of their lowest point), half (of their width) and yaw."""

    viewpoints: tuple[Viewpoint, ...]
    """One for each picture."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SolidsLayout:
    """What states of a grammar have."""

    counts: tuple[int, int, int] = (3, 5, 8)
    turns: tuple[float, ...] = (0.0,)
    """Each view is turned so many degrees from the first; two with the same sign of chance."""
    size_px: int = 320
    has_stacks: bool = False


def solids_grammar(name: str, layout: SolidsLayout) -> Grammar:
    """The grammar of solids with this layout."""
    return Grammar(name=name, draw=solids_drawn(layout), axes=AXES)


def solids_drawn(layout: SolidsLayout) -> Callable[[Generator, Levels], SolidsState]:
    """Draws solids that do not touch, no two alike in colour and kind."""

    def draw(rng: Generator, levels: Levels) -> SolidsState:
        most = levels.whole("clutter", *layout.counts)
        count = int(rng.integers(max(3, round(0.7 * most)), most + 2))
        small = levels.knob("size", 0.55, 0.45, 0.36)
        azimuth = float(round(rng.uniform(0, 360), 1))
        sign = 1 if rng.integers(2) else -1
        viewpoints = tuple(Viewpoint(azimuth=(azimuth + sign * turn) % 360) for turn in layout.turns)
        pairs = [(colour, kind) for colour in PALETTE for kind in KINDS]
        elements: list[Element] = []
        for index, which in enumerate(rng.permutation(len(pairs))[:count]):
            colour, kind = pairs[int(which)]
            half = small * (LARGE if rng.integers(2) else 1.0)
            x, y = _free_place(rng, elements, half, levels.knob("occlusion", 0.9, 0.45, 0.12))
            elements.append(_solid(rng, index, colour, kind, x, y, 0.0, half, half > small))
        if layout.has_stacks:
            elements = _stacked(rng, elements)
        far = [_with_depth(element, viewpoints[0]) for element in elements]
        return SolidsState(
            elements=tuple(far),
            width=layout.size_px,
            height=layout.size_px,
            views=len(viewpoints),
            viewpoints=viewpoints,
        )

    return draw


def seen_from(element: Element, viewpoint: Viewpoint) -> tuple[float, float]:
    """How far to the right and how far ahead of the camera the middle of a solid is."""
    turn, lift = math.radians(viewpoint.azimuth), math.radians(viewpoint.elevation)
    here = viewpoint.place()
    x, y = element.numbers["x"] - here[0], element.numbers["y"] - here[1]
    z = element.numbers["z"] + element.numbers["half"] - here[2]
    flat = x * math.sin(turn) + y * math.cos(turn)
    return x * math.cos(turn) - y * math.sin(turn), flat * math.cos(lift) - z * math.sin(lift)


def _with_depth(element: Element, viewpoint: Viewpoint) -> Element:
    return replace(element, depth=round(seen_from(element, viewpoint)[1], 4))


def _free_place(rng: Generator, others: list[Element], half: float, gap: float) -> tuple[float, float]:
    for _ in range(200):
        x, y = (float(round(v, 3)) for v in rng.uniform(-2.9, 2.9, size=2))
        if all(
            math.hypot(x - o.numbers["x"], y - o.numbers["y"]) > 1.3 * (half + o.numbers["half"]) + gap for o in others
        ):
            return x, y
    return _free_place(rng, others, half * 0.9, gap * 0.7)


def _solid(
    rng: Generator, index: int, colour: str, kind: str, x: float, y: float, z: float, half: float, is_large: bool
) -> Element:
    finish = FINISHES[int(rng.integers(2))]
    attributes = {"colour": colour, "shape": kind, "size": "large" if is_large else "small", "finish": finish}
    yaw = float(round(rng.uniform(0, np.pi / 2), 3))
    numbers = {"x": x, "y": y, "z": z, "half": round(half, 4), "yaw": yaw}
    return Element(id=f"solid{index}", kind="solid", name=f"{colour} {kind}", attributes=attributes, numbers=numbers)


def _stacked(rng: Generator, elements: list[Element]) -> list[Element]:
    """The last solids, put on cubes and cylinders: one on each."""
    bases = [e for e in elements if e.attributes["shape"] in ("cube", "cylinder")]
    found = list(elements)
    for base, top in zip(bases, [e for e in reversed(elements) if e not in bases]):
        at = found.index(top)
        half = min(top.numbers["half"], base.numbers["half"] * 0.95)
        numbers = {**top.numbers, "x": base.numbers["x"], "y": base.numbers["y"], "half": half}
        numbers["z"] = base.numbers["z"] + 2 * base.numbers["half"]
        found[at] = replace(top, numbers=numbers, attributes={**top.attributes, "on": base.name})
    return found
