"""Marks that a hand makes with a pen on a page: ticks, crosses, rings, scribbles and strokes, no two alike."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.painter import Painter
from saccade.tasks.drawing import Colour

PENS: tuple[Colour, ...] = ((28, 52, 140), (24, 24, 30), (150, 26, 40))
"""Blue, black and red ink."""
SHAKE = 0.05
"""How far a hand goes astray, of the shorter side of what it draws."""

Place = tuple[float, float]
Draw = Callable[[Painter, str, Box, Colour, Generator], None]


def pen_stroke(
    painter: Painter, element: str, places: Sequence[Place], box: Box, ink: Colour, rng: Generator, width: float = 2.2
) -> None:
    """A line through places in a box, given as shares of its sides; each is a little astray."""
    astray = rng.normal(0.0, SHAKE, size=(len(places), 2))
    points = [
        Point(box.x1 + (x + dx) * box.width, box.y1 + (y + dy) * box.height) for (x, y), (dx, dy) in zip(places, astray)
    ]
    painter.line(element, points, width, ink)


def draw_tick(painter: Painter, element: str, box: Box, ink: Colour, rng: Generator) -> None:
    """A tick that goes beyond its box at the right."""
    pen_stroke(painter, element, [(0.1, 0.5), (0.4, 0.9), (1.15, -0.15)], box, ink, rng, 2.6)


def draw_cross(painter: Painter, element: str, box: Box, ink: Colour, rng: Generator) -> None:
    """Two strokes from corner to corner."""
    pen_stroke(painter, element, [(0.0, 0.05), (1.0, 0.95)], box, ink, rng, 2.6)
    pen_stroke(painter, element, [(1.0, 0.0), (0.0, 1.0)], box, ink, rng, 2.6)


def draw_ring(painter: Painter, element: str, box: Box, ink: Colour, rng: Generator) -> None:
    """A ring around a box, not quite closed."""
    start = float(rng.uniform(0, 360))
    turns = np.radians(np.linspace(start, start + 345, 14))
    places = [(0.5 + 0.78 * math.cos(turn), 0.5 + 0.78 * math.sin(turn)) for turn in turns]
    pen_stroke(painter, element, places, box, ink, rng, 2.4)


def draw_scribble(painter: Painter, element: str, box: Box, ink: Colour, rng: Generator) -> None:
    """A zigzag that blacks out what was there."""
    places = [(-0.1 + 1.2 * (step % 2), -0.05 + 1.1 * step / 9) for step in range(10)]
    pen_stroke(painter, element, places, box, ink, rng, 3.0)


def draw_strike(painter: Painter, element: str, box: Box, ink: Colour, rng: Generator) -> None:
    """A stroke through a line of a page, from end to end."""
    places = [(step / 6, 0.5 + 0.08 * math.sin(step * 2.1)) for step in range(7)]
    pen_stroke(painter, element, places, box, ink, rng, 2.4)


MARKS: Mapping[str, Draw] = {"tick": draw_tick, "cross": draw_cross, "ring": draw_ring}
