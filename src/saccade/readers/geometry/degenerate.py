"""Figures that fulfil every equation and yet are no figures: collapsed, flat, or with sides that cross."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.state import Array, FigureBatch, cross
from saccade.readers.geometry.terms import Call, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS

SMALLEST = 1e-3
"""Least distance of two places that are to be different, as a share of the whole figure."""

FLATTEST = 2e-4
"""The least height of a triangle, as a share of its longest side."""

ROUND = 100.0
"""How much higher it must be in figures that fit numbers up to rounding: what contradicts itself fits nearly in one of
next to no height."""

MAX_SIMPLE_CORNERS = 10
"""Corners of polygons that are searched for crossing sides."""

Mask = npt.NDArray[np.bool_]


def is_sound(state: FigureBatch, figure: Figure, *, all_distinct: bool, coarseness: float = 1.0) -> Mask:
    """Which figures of the batch have shape; ``all_distinct`` asks that no two points share their place.

    Polygons must be ``coarseness`` times as high as where numbers are exact.
    """
    names = list(state.points)
    sound: Mask = np.ones(state.choice.shape, dtype=np.bool_)
    if not names:
        return sound
    places = np.array([state.points[name] for name in names])
    sound &= np.isfinite(places).all(axis=(0, 1))
    # By points and axes; a figure that is nearly a point is no smaller figure, but none.
    extent = np.maximum(np.ptp(places, axis=0).max(axis=0), 1e-4 * state.size)
    least = SMALLEST * extent
    pairs = {tuple(sorted(names_of(node))) for node in _shapes(figure, ("Line",))}
    if all_distinct:
        pairs = {(one, other) for one in names for other in names if one < other}
    for one, other in pairs:
        sound &= state.distance(one, other) > least
    for radius in state.radii.values():
        sound &= radius > least
    for first, vertex, second in {names_of(node) for node in _shapes(figure, ("Angle",))}:
        sound &= (state.distance(first, vertex) > least) & (state.distance(second, vertex) > least)
    for corners in {names_of(node) for node in _shapes(figure, tuple(CORNERS))}:
        sound &= _is_polygon(state, corners, least, FLATTEST * coarseness)
    for said in figure.given:
        if said.name == "Parallel":
            sound &= _are_apart(state, names_of(said.args[0]), names_of(said.args[1]), extent)
        elif said.name == "Trapezoid":
            a, b, c, d = names_of(said)
            sound &= np.maximum(np.abs(state.sine((a, b), (c, d))), np.abs(state.sine((b, c), (d, a)))) > SMALLEST
    return sound


def _shapes(figure: Figure, names: Sequence[str]) -> list[Call]:
    nodes = (node for root in (*figure.given, *figure.goals) for node in walk(root))
    return [node for node in nodes if isinstance(node, Call) and node.name in names]


def _is_polygon(state: FigureBatch, corners: tuple[str, ...], least: Array, flattest: float) -> Mask:
    sides = list(zip(corners, (*corners[1:], corners[0])))
    lengths = np.array([state.distance(*side) for side in sides])
    area = np.abs(state.signed_area(corners))
    fit: Mask = (lengths > least).all(axis=0) & (area > flattest * lengths.max(axis=0) ** 2 / 2)
    if 4 <= len(corners) <= MAX_SIMPLE_CORNERS:
        for i, first in enumerate(sides):
            for second in sides[i + 2 : len(sides) - (i == 0)]:
                fit &= ~_cross_each_other(state, first, second)
    return fit


def _cross_each_other(state: FigureBatch, first: tuple[str, str], second: tuple[str, str]) -> Mask:
    def splits(line: tuple[str, str], other: tuple[str, str]) -> Mask:
        sides = [cross(state.vector(*line), state.vector(line[0], end)) for end in other]
        split: Mask = sides[0] * sides[1] < 0
        return split

    return splits(first, second) & splits(second, first)


def _are_apart(state: FigureBatch, first: Sequence[str], second: Sequence[str], extent: Array) -> Mask:
    if set(first) & set(second):
        return np.ones(state.choice.shape, dtype=np.bool_)
    apart: Mask = np.abs(state.height(second[0], (first[0], first[1]))) > FLATTEST * extent
    return apart
