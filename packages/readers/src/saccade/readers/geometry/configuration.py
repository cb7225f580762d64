"""Acceptance of figures that fulfil every equation: not degenerate, and of the configuration that a drawing shows.

A drawing need not be true to scale, so its lengths and angles are no evidence. Sides and orders count as far as they
are plain to see: three points that are nearly on one line say nothing of their side.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.residuals import Reading
from saccade.readers.geometry.terms import Call, Name, walk
from saccade.readers.geometry.values import Array, FigureBatch, Ints, Mask, cross, names_of
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

Place = tuple[float, float]


def is_nondegenerate(state: FigureBatch, figure: Figure, *, all_distinct: bool, coarseness: float = 1.0) -> Mask:
    """Which figures of the batch have shape: not collapsed, flat or self-crossing; ``all_distinct`` bars shared places.

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


FLAT = 0.03
"""The height of three points on one line, as a share of their greatest distance."""

UNLIKE = 0.08
"""How plainly, in such shares, a figure must contradict the drawing to be of another configuration."""

SHOWN, NOT_SHOWN = 0.12, 0.2
"""The largest residual of a reading that a drawing shows, and the least of those that it does not."""


def readings_shown(readings: list[Reading], said: Call, places: Mapping[str, Place]) -> list[Reading]:
    """The one reading of an ambiguous word that a drawing plainly shows; else all of them.

    Which corner of a right triangle is the right one is no measure that the drawing would have to be trusted for.
    """
    names = {node.text for node in walk(said) if isinstance(node, Name)}
    if len(readings) < 2 or not names <= set(places):
        return readings
    points = {name: (np.array([places[name][0]]), np.array([places[name][1]])) for name in names}
    extent = max(float(np.ptp([point[axis] for point in points.values()])) for axis in (0, 1))
    drawn = FigureBatch(
        points=points, radii={}, symbols={}, members={}, choice=np.zeros(1, np.int64), size=max(extent, 1e-9)
    )
    with np.errstate(all="ignore"):
        errors = [max(float(np.abs(row).max()) for row in reading(drawn)) for reading in readings]
    best, second = np.argsort(errors, kind="stable")[:2]
    return [readings[best]] if errors[best] < SHOWN and errors[second] > NOT_SHOWN else readings


def contradictions(places: Mapping[str, Place], state: FigureBatch) -> Array:
    """How plainly the sides and orders of every figure contradict the drawing's, turned and mirrored as fits best."""
    names = [name for name in state.points if name in places]
    if len(names) < 3:
        return np.zeros(state.choice.shape)
    triples = np.array(list(combinations(range(len(names)), 3)))
    drawn = np.array([places[name] for name in names], np.float64)[:, :, None]
    found = np.array([state.points[name] for name in names])
    shown, seen = _heights(drawn, triples), _heights(found, triples)
    # A figure that is nearly flat would otherwise contradict hardly anything.
    stretched = np.maximum(1.0, np.abs(shown).sum() / np.maximum(np.abs(seen).sum(axis=0), 1e-300))
    plain = np.sqrt(np.abs(shown) * np.minimum(1.0, np.abs(seen) * stretched))
    is_turned = np.sign(shown) * np.sign(seen) < 0
    turned = np.where(is_turned, plain, 0).sum(axis=0)
    straight = np.where(is_turned, 0, plain).sum(axis=0)
    is_flat = (np.abs(shown) < FLAT) & (np.abs(seen) < FLAT)
    shuffled = np.where(is_flat, _order_errors(drawn, found, triples), 0).sum(axis=0)
    total: Array = np.minimum(turned, straight) + shuffled
    return total


def least_contradicting(places: Mapping[str, Place], state: FigureBatch) -> Mask:
    """Which figures are of the drawing's configuration, as far as any is."""
    gaps = contradictions(places, state)
    # A drawing that even the likest figure contradicts is no safe witness against the others.
    chosen: Mask = gaps <= 3 * gaps.min() + UNLIKE
    return chosen


def _distances(spots: Array, triples: Ints) -> Array:
    """Distances of the first and second, second and third, third and first of three points: (3, triple, batch)."""
    sides = [spots[triples[:, (i + 1) % 3]] - spots[triples[:, i]] for i in range(3)]
    lengths: Array = np.array([np.hypot(side[:, 0], side[:, 1]) for side in sides])
    return lengths


def _heights(spots: Array, triples: Ints) -> Array:
    """The signed height of three points over their greatest distance, as a share of it: (triple, batch)."""
    a, b, c = (spots[triples[:, i]] for i in range(3))
    crossed = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    heights: Array = crossed / np.maximum(_distances(spots, triples).max(axis=0) ** 2, 1e-300)
    return heights


def _order_errors(drawn: Array, found: Array, triples: Ints) -> Array:
    """How plainly another of three points is between the two others than in the drawing."""
    one, other = _distances(drawn, triples), _distances(found, triples)
    is_other = one.argmax(axis=0) != other.argmax(axis=0)
    plain = np.minimum(*[side.min(axis=0) / np.maximum(side.max(axis=0), 1e-300) for side in (one, other)])
    shuffled: Array = np.where(is_other, plain, 0)
    return shuffled
