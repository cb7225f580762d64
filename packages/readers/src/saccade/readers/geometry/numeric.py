"""Numeric search for figures that fulfil all statements, and for whether they agree about the goals.

A value is determined when it is the same in all figures that were found, in those of the drawing's configuration where
there is a drawing, and in whatever they can be flexed into. No number is ever taken from a drawing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from saccade.readers.geometry.configuration import ROUND, Place, least_contradicting
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.starts import Starts, flexed
from saccade.readers.geometry.system import Ends, System
from saccade.readers.geometry.terms import Node
from saccade.readers.geometry.values import Array, FigureBatch, Mask, dimension_of, value_of
from saccade.seeding import seed_for

Verdict = Literal["determined", "not determined", "inconsistent"]

EXACT = 1e-8
"""The largest residual of a figure that fulfils the statements."""

PRECISE = 1e-10
"""The largest residual of figures that theorems are checked against."""

ROUNDED = 4e-3
"""The largest residual of one that fulfils them but for rounded numbers."""

FIRM = 200.0
"""How much closer than to numbers such a figure must keep to what is no number: lines, circles, right angles."""

NEAREST = 12
"""Figures that are tried for it."""

SAME = 1e-4
"""Relative difference of values that count as one; where a figure only just fits, they converge slowly."""

SAME_ROUNDED = 1e-2
ROUNDS = 5
ENOUGH = 8
"""Figures after which no further round is begun."""

NEIGHBOURS = 8
"""Starts around a figure that was found."""

FLEXED = 3
"""Figures that are flexed: moved as far as their statements let them."""

MAX_VALUES_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Solutions:
    """The figures found of a problem, and the verdict about its goals."""

    verdict: Verdict
    state: FigureBatch
    """The figures as a batch; when inconsistent, the one that comes nearest."""
    values: tuple[tuple[float, ...], ...]
    """Different values of every goal over the figures, the least first; cut at ``MAX_VALUES_SHOWN``."""
    is_rounded: bool = False
    """The statements hold only up to the rounding of their numbers."""
    broken: tuple[str, ...] = ()
    """Statements that the nearest figure does not fulfil, the worst first; only when inconsistent."""


def find_figures(figure: Figure, places: Mapping[str, Place] | None = None, seed: int = 0) -> Solutions:
    """The figures of a problem; with ``places`` (y upwards) those of the drawing's configuration."""
    with np.errstate(all="ignore"):
        return _Search(figure, places or {}, seed).solutions()


class _Search:
    """Looks for the figures of a problem."""

    def __init__(self, figure: Figure, places: Mapping[str, Place], seed: int) -> None:
        self._figure = figure
        self._places = {name: place for name, place in places.items() if name in figure.points}
        self._generator = np.random.default_rng(seed_for(seed, "geometry"))
        self._system = System(figure, self._places)
        self._starts = Starts(self._system, self._places, self._generator)

    def solutions(self) -> Solutions:
        """The verdict over all rounds."""
        system = self._system
        if not len(system.free):
            alone = Ends(whole=np.zeros((len(system.scales), 1)), choices=np.zeros(1, np.int64), errors=np.zeros(1))
            return self._solutions_of(alone, SAME)
        ends = self._all_ends()
        for all_distinct in (True, False):
            if (fits := self._fits(ends, all_distinct=all_distinct)).any():
                return self._solutions_of(self._with_flexed(ends.where(fits), EXACT, all_distinct=all_distinct), SAME)
        sound = system.nondegenerate(ends, all_distinct=False)
        nearest = ends.where(np.argsort(np.where(sound, ends.errors, ends.errors + 1e3))[:NEAREST])
        nearest = system.descend(nearest.whole, nearest.choices, FIRM)
        most = min(ROUNDED, 2 * float(nearest.errors.min()))
        near = (nearest.errors < most) & system.nondegenerate(nearest, all_distinct=False, coarseness=ROUND)
        if near.any():
            return self._solutions_of(self._with_flexed(nearest.where(near), most, all_distinct=False), SAME_ROUNDED)
        return self._inconsistent(nearest.where(np.array([nearest.errors.argmin()])))

    def _fits(self, ends: Ends, *, all_distinct: bool) -> Mask:
        fits: Mask = (ends.errors < EXACT) & self._system.nondegenerate(ends, all_distinct=all_distinct)
        return fits

    def _all_ends(self) -> Ends:
        """The ends of all starts."""
        ends = self._system.descend(*self._starts.draw(0))
        for number in range(1, ROUNDS):
            if self._fits(ends, all_distinct=True).sum() >= ENOUGH:
                break
            ends += self._system.descend(*self._starts.draw(number))
        fits = self._fits(ends, all_distinct=True)
        if fits.any():
            chosen = self._generator.choice(np.flatnonzero(fits), NEIGHBOURS)
            noise = 0.1 * self._system.scales[:, None] * self._starts.normal(NEIGHBOURS)
            ends += self._system.descend(ends.whole[:, chosen] + noise, ends.choices[chosen])
        return ends

    def _with_flexed(self, found: Ends, most: float, *, all_distinct: bool) -> Ends:
        """Figures of the drawing's configuration, if there is a drawing, and what some of them can be flexed into."""
        system = self._system
        found = found.where(self._as_drawn(found))
        some = np.linspace(0, len(found.errors) - 1, min(FLEXED, len(found.errors))).astype(np.int64)
        more = flexed(system, found.where(some), self._generator, 1.0 if most <= EXACT else FIRM)
        more = more.where((more.errors < most) & system.nondegenerate(more, all_distinct=all_distinct))
        together = found + more
        return together.where(self._as_drawn(together))

    def _as_drawn(self, ends: Ends) -> Mask:
        if not self._places:
            return np.ones(ends.errors.shape, np.bool_)
        return least_contradicting(self._places, self._system.state(ends.whole, ends.choices))

    def _solutions_of(self, ends: Ends, tolerance: float) -> Solutions:
        state = self._system.state(ends.whole, ends.choices)
        values = tuple(_different(value_of(goal, state), tolerance, self._unit(goal)) for goal in self._figure.goals)
        is_determined = all(len(found) == 1 and np.isfinite(found[0]) for found in values)
        # Figures on the edge of an inequality converge slowly, and theorems are checked to more digits than values.
        precise = ends.where(ends.errors <= max(PRECISE, float(ends.errors.min())))
        return Solutions(
            verdict="determined" if is_determined else "not determined",
            state=self._system.state(precise.whole, precise.choices),
            values=values,
            is_rounded=tolerance != SAME,
        )

    def _unit(self, goal: Node) -> float:
        """Differences of far less than this are noise."""
        size = self._figure.size
        units = {"length": size, "area": size**2, "angle": 60.0, None: 1.0}
        return units[dimension_of(goal, self._figure.symbols)]

    def _inconsistent(self, nearest: Ends) -> Solutions:
        return Solutions(
            verdict="inconsistent",
            state=self._system.state(nearest.whole, nearest.choices),
            values=(),
            broken=tuple(self._system.broken_statements(nearest)[:MAX_VALUES_SHOWN]),
        )


def _different(values: Array, tolerance: float, unit: float) -> tuple[float, ...]:
    """The middle of every bunch of like values, in order; a value that is not finite is like no other."""
    bunches: list[list[float]] = []
    for value in sorted(float(value) for value in values):
        if not bunches or not abs(value - bunches[-1][0]) <= tolerance * max(1e-3 * unit, abs(value)):
            bunches.append([])
        bunches[-1].append(value)
    found = [bunch[len(bunch) // 2] for bunch in bunches]
    if len(found) <= MAX_VALUES_SHOWN:
        return tuple(found)
    return tuple(found[round(i * (len(found) - 1) / (MAX_VALUES_SHOWN - 1))] for i in range(MAX_VALUES_SHOWN))
