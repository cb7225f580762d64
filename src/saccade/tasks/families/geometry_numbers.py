"""Numbers and places that geometry problems are made of."""

import cmath
import math

from numpy.random import Generator

TRIPLES = ((3, 4, 5), (6, 8, 10), (5, 12, 13), (8, 15, 17), (9, 12, 15), (7, 24, 25), (20, 21, 29))


def placed(length: float, degrees: float) -> complex:
    return cmath.rect(length, math.radians(degrees))


def whole(rng: Generator, least: int, most: int, step: int = 1) -> int:
    return step * int(rng.integers(-(-least // step), most // step + 1))


def triple(rng: Generator) -> tuple[int, int, int]:
    a, b, c = TRIPLES[int(rng.integers(len(TRIPLES)))]
    return (a, b, c) if rng.integers(2) else (b, a, c)


def triangle_corners(at_first: float, at_second: float) -> tuple[complex, complex, complex]:
    """A triangle with these angles at its second and third corner."""
    apex = 180 - at_first - at_second
    return placed(math.sin(math.radians(at_second)) / math.sin(math.radians(apex)), at_first), 0j, 1 + 0j


def in_x(value: int, x: int, factor: int) -> str:
    """An expression of this value, as ``3x-2``."""
    rest = value - factor * x
    return f"{factor if factor > 1 else ''}x" + (f"{rest:+d}" if rest else "")
