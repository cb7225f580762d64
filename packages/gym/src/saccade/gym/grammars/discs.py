"""Discs that overlap: each of its own colour, one above the other.

Axes: ``clutter`` (how many), ``overlap`` (how little of two discs overlaps).
"""

import math

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

SIDE_PX = 256


def draw_discs(rng: Generator, levels: Levels) -> SceneState:
    """Discs in the order in which they are laid down; each touches none, or overlaps by a fair part."""
    count = levels.whole("clutter", 3, 5, 7)
    least = levels.knob("overlap", 0.4, 0.3, 0.2)
    colours = shuffled(rng, COLOUR_NAMES)[:count]
    placed: list[tuple[Point, float]] = []
    while len(placed) < count:
        radius = float(rng.integers(22, 40))
        x, y = (int(side) for side in rng.integers(int(radius) + 4, SIDE_PX - int(radius) - 4, size=2))
        if all(_is_clear(Point(x, y), radius, *other, least) for other in placed):
            placed.append((Point(x, y), radius))
        elif rng.random() < 0.01:
            placed = []
    elements = [
        Element(
            id=f"disc{index}",
            kind="disc",
            name=f"{colour} disc",
            attributes={"colour": colour},
            numbers={"radius": radius},
            center=center,
            depth=float(count - index),
        )
        for index, (colour, (center, radius)) in enumerate(zip(colours, placed))
    ]
    return SceneState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX)


def _is_clear(one: Point, radius: float, other: Point, other_radius: float, least: float) -> bool:
    """Whether two discs lie clearly apart, or overlap clearly and leave enough of each to be seen."""
    distance = math.hypot(one.x - other.x, one.y - other.y)
    overlap = radius + other_radius - distance
    return overlap < -5 or 2 * least * min(radius, other_radius) <= overlap <= 1.1 * min(radius, other_radius)


DISCS = Grammar(name="discs that overlap", draw=draw_discs, axes=("clutter", "overlap"))
