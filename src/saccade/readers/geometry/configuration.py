"""Evidence of a drawing: on which sides and in which order points lie, and what ambiguous words mean.

A drawing need not be true to scale, so its lengths and angles are no evidence. Sides and orders count as far as they
are plain to see: three points that are nearly on one line say nothing of their side.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from saccade.readers.geometry.degenerate import Mask
from saccade.readers.geometry.descent import Ints
from saccade.readers.geometry.diagram import Place
from saccade.readers.geometry.residuals import Reading
from saccade.readers.geometry.state import Array, FigureBatch
from saccade.readers.geometry.terms import Call, Name, walk

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
    shuffled = np.where(is_flat, _shuffled(drawn, found, triples), 0).sum(axis=0)
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


def _shuffled(drawn: Array, found: Array, triples: Ints) -> Array:
    """How plainly another of three points is between the two others than in the drawing."""
    one, other = _distances(drawn, triples), _distances(found, triples)
    is_other = one.argmax(axis=0) != other.argmax(axis=0)
    plain = np.minimum(*[side.min(axis=0) / np.maximum(side.max(axis=0), 1e-300) for side in (one, other)])
    shuffled: Array = np.where(is_other, plain, 0)
    return shuffled
