"""Figures bent as far as their statements let them: whether what is asked moves with them.

A figure is on a surface of figures that fulfil the same statements; the null space of the statements' Jacobian is the
tangent of that surface. Steps along it, brought back onto the surface, are figures that owe nothing to the place where
the search began.
"""

import numpy as np

from saccade.readers.geometry.descent import Ints
from saccade.readers.geometry.state import Array
from saccade.readers.geometry.system import Ends, System
from saccade.readers.geometry.values import value_of

STEP = 1e-6
"""Step of the difference quotients; unknowns are of the order of 1."""

KINK = 1e-3
"""Difference of the quotients on both sides of an inequality's edge, which lets a figure go one way."""

RANK = 1e-5
"""Singular values of less than this share of the largest are directions in which nothing is demanded."""

REACHES = (0.2, 0.05, 0.01)
"""How far the most moved unknown is moved; far steps show most, near ones keep the configuration."""

ANYWHERE = 2
"""Directions drawn at random in the tangent, beside those in which the goals move most."""


def bent(system: System, figures: Ends, generator: np.random.Generator, firmness: float = 1.0) -> Ends:
    """The figures moved along what their statements leave free, both ways, and brought back onto it."""
    starts, choices = [figures.whole[:, :0]], [figures.choices[:0]]
    for number in range(len(figures.choices)):
        one = figures.where(np.array([number]))
        for way in _directions(system, one, generator, firmness):
            for reach in REACHES:
                for sign in (-1.0, 1.0):
                    moved = one.whole.copy()
                    moved[system.free, 0] += sign * reach * way * system.scales[system.free]
                    starts.append(moved)
                    choices.append(one.choices)
    return system.ended(np.concatenate(starts, axis=1), np.concatenate(choices), firmness)


def _directions(system: System, one: Ends, generator: np.random.Generator, firmness: float) -> list[Array]:
    """In the tangent of one figure: where each goal moves most, and some more; none where the figure is rigid."""
    tangent = _tangent(system, one, firmness)
    if not tangent.shape[1]:
        return []
    ways = [tangent @ (tangent.T @ slope) for slope in _goal_slopes(system, one)]
    ways += [tangent @ generator.normal(size=tangent.shape[1]) for _ in range(ANYWHERE)]
    return [way / np.abs(way).max() for way in ways if np.isfinite(way).all() and np.abs(way).max() > 1e-9]


def _tangent(system: System, one: Ends, firmness: float) -> Array:
    """An orthonormal basis (unknown, direction) of what the statements leave free."""
    whole, choices = _shifted(system, one)
    values = np.nan_to_num(system.residuals(whole, choices, firmness), nan=0.0, posinf=0.0, neginf=0.0)
    here, ahead, back = values[:, :1], *np.split(values[:, 1:], 2, axis=1)
    forward, backward = (ahead - here) / STEP, (here - back) / STEP
    has_kink = (np.abs(forward - backward) > KINK * max(1.0, firmness)).any(axis=1)
    slopes = ((forward + backward) / 2)[~has_kink]
    _, sizes, basis = np.linalg.svd(np.concatenate([slopes, np.zeros((len(system.free), len(system.free)))]))
    tangent: Array = basis[sizes <= RANK * max(1.0, float(sizes.max()))].T
    return tangent


def _goal_slopes(system: System, one: Ends) -> list[Array]:
    whole, choices = _shifted(system, one)
    state = system.state(whole, choices)
    found = []
    for goal in system.figure.goals:
        ahead, back = np.split(value_of(goal, state)[1:], 2)
        found.append((ahead - back) / (2 * STEP))
    return found


def _shifted(system: System, one: Ends) -> tuple[Array, Ints]:
    """The figure, then it with each unknown a little greater, then with each a little less."""
    count = len(system.free)
    shifts = np.concatenate([np.zeros((count, 1)), STEP * np.eye(count), -STEP * np.eye(count)], axis=1)
    whole = np.repeat(one.whole, 1 + 2 * count, axis=1)
    whole[system.free] += shifts * system.scales[system.free, None]
    return whole, np.repeat(one.choices, 1 + 2 * count)
