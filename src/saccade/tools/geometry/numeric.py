"""Figures that fulfil all statements, found from many starts, and whether they agree about what is asked.

Unknown are the coordinates, with the first point in the origin and the second on the x axis, the radii and the
letters. Starts are drawn by a seeded generator; the work is bounded by counts, never by the clock, so that the same
problem gets the same answer on every machine. Starts at the places of a diagram find the diagram's figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from saccade.seeding import seed_for
from saccade.tools.geometry.constraints import readings_of
from saccade.tools.geometry.degenerate import Mask, is_sound
from saccade.tools.geometry.descent import Ints, descend
from saccade.tools.geometry.diagram import Place, distances_to, start_at
from saccade.tools.geometry.figure import Figure
from saccade.tools.geometry.state import Array, State
from saccade.tools.geometry.terms import Node
from saccade.tools.geometry.values import dimension_of, names_of, value_of
from saccade.tools.geometry.vocabulary import CORNERS
from saccade.tools.geometry.writing import written

Verdict = Literal["determined", "not determined", "inconsistent"]

EXACT = 1e-8
"""The largest residual of a figure that fulfils the statements."""

PRECISE = 1e-10
"""The largest residual of figures that theorems are checked against."""

ROUNDED = 4e-3
"""The largest residual of one that fulfils them but for rounded numbers."""

FIRM = 200.0
"""How much closer than to numbers such a figure must keep to what is no number: lines, circles, right angles."""

BENT = 12
"""Figures that are tried for it."""

SAME = 1e-4
"""Relative difference of values that count as one; where a figure only just fits, they converge slowly."""

SAME_ROUNDED = 1e-2
STEPS, ROUNDS = 120, 5
ENOUGH = 8
"""Figures after which no further round is begun."""

MAX_STARTS, MIN_STARTS = 64, 8
NEIGHBOURS = 8
"""Starts around a figure that was found, to see whether it can be bent."""

WORK = 3_000_000
"""Residuals that the difference quotients of all starts may compute at once; bounds the starts of large problems."""

MAX_VALUES_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Solutions:
    """What was found of a problem."""

    verdict: Verdict
    state: State
    """The figures as a batch; when inconsistent, the one that comes nearest."""
    values: tuple[tuple[float, ...], ...]
    """Of every goal: its different values over the figures, the least first; cut at ``MAX_VALUES_SHOWN``."""
    is_rounded: bool = False
    """The statements hold only up to the rounding of their numbers."""
    broken: tuple[str, ...] = ()
    """Statements that the nearest figure does not fulfil, the worst first; only when inconsistent."""


def find_figures(figure: Figure, places: Mapping[str, Place] | None = None, seed: int = 0) -> Solutions:
    """The figures of a problem; with ``places`` (y upwards) those that look like the diagram."""
    with np.errstate(all="ignore"):
        return _Search(figure, places or {}, seed).solutions()


class _Search:
    """The unknowns of a problem in one vector: coordinates, radii, letters."""

    def __init__(self, figure: Figure, places: Mapping[str, Place], seed: int) -> None:
        self._figure = figure
        self._places = {name: place for name, place in places.items() if name in figure.points}
        self._generator = np.random.default_rng(seed_for(seed, "geometry"))
        self._rules = []
        self._ways = 1
        self._firmness = 1.0
        for said in figure.given:
            readings = readings_of(said, figure)
            if readings:
                self._rules.append((written(said), readings, self._ways, said.name == "Equals"))
                self._ways = min(self._ways * len(readings), 1 << 40)
        coordinates = 2 * len(figure.points)
        lengths = coordinates + len(figure.members)
        units = {"angle": 40.0, "length": figure.size, "area": figure.size**2, None: 5.0}
        self._scales = np.array([figure.size] * lengths + [units[kind] for kind in figure.symbols.values()])
        self._free = np.array([i for i in range(len(self._scales)) if i >= coordinates or i not in (0, 1, 3)], np.int64)
        self._lengths = lengths

    def solutions(self) -> Solutions:
        """The verdict over all rounds."""
        if not len(self._free):
            return self._judged(np.zeros((len(self._scales), 1)), np.zeros(1, np.int64), np.zeros(1), SAME)
        every, choices, errors = self._gathered()
        fits = (errors < EXACT) & self._sound(every, choices, all_distinct=True)
        if not fits.any():
            fits = (errors < EXACT) & self._sound(every, choices, all_distinct=False)
        if fits.any():
            return self._judged(*self._looking_right(every[:, fits], choices[fits], errors[fits]), SAME)
        sound = self._sound(every, choices, all_distinct=False)
        order = np.argsort(np.where(sound, errors, errors + 1e3))
        every, choices, errors = self._bent(every[:, order[:BENT]], choices[order[:BENT]])
        near = (errors < min(ROUNDED, 2 * errors.min())) & self._sound(every, choices, all_distinct=False)
        if near.any():
            return self._judged(*self._looking_right(every[:, near], choices[near], errors[near]), SAME_ROUNDED)
        best = int(np.argmin(errors))
        return self._inconsistent(every[:, best : best + 1], choices[best : best + 1])

    def _bent(self, whole: Array, choices: Ints) -> tuple[Array, Ints, Array]:
        """Figures that keep to what is not a number, and miss the numbers by as little as they can."""
        self._firmness = FIRM
        found = self._ended(whole, choices)
        self._firmness = 1.0
        return found

    def _gathered(self) -> tuple[Array, Ints, Array]:
        """The ends of all starts: unknowns (unknown, batch), choices and largest residuals (batch,)."""
        ends: list[tuple[Array, Ints, Array]] = []
        for number in range(ROUNDS):
            ends.append(self._ended(*self._starts(number)))
            every, choices, errors = _joined(ends)
            fits = (errors < EXACT) & self._sound(every, choices, all_distinct=True)
            if fits.sum() >= ENOUGH:
                break
        if fits.any():
            chosen = self._generator.choice(np.flatnonzero(fits), NEIGHBOURS)
            moved = every[:, chosen] + 0.1 * self._scales[:, None] * self._normal(NEIGHBOURS)
            ends.append(self._ended(moved, choices[chosen]))
        return _joined(ends)

    def _starts(self, number: int) -> tuple[Array, Ints]:
        """Where a round begins: unknowns (unknown, batch) and choices (batch,)."""
        one = self._normal(1) * self._scales[:, None]
        cost = len(self._free) * max(1, len(self._residuals(one, np.zeros(1, np.int64))))
        count = max(MIN_STARTS, min(MAX_STARTS, WORK // (cost * max(1, len(self._free)))))
        spread = float(self._generator.choice([0.7, 1.0, 2.0]))
        starts = self._normal(count) * self._scales[:, None] * spread
        starts[self._lengths - len(self._figure.members) :] = np.abs(
            starts[self._lengths - len(self._figure.members) :]
        )
        self._round_polygons(starts)
        if self._places:
            drawn = start_at(self._places, self._figure)
            noise = 0.04 * self._figure.size * self._normal(count)
            noise[:, 0] = 0
            for name, (x, y) in drawn.items():
                row = 2 * self._figure.points.index(name)
                starts[row], starts[row + 1] = x + noise[row], y + noise[row + 1]
        if self._ways <= 1 << 20:
            return starts, (np.arange(count, dtype=np.int64) + number * count) % self._ways
        return starts, self._generator.integers(self._ways, size=count)

    def _round_polygons(self, starts: Array) -> None:
        """Puts the corners of polygons around a circle in every other start: at random, the sides of many cross."""
        size, points = self._figure.size, self._figure.points
        placed: set[str] = set()
        for said in self._figure.given:
            corners = names_of(said)
            if said.name not in CORNERS or len(corners) < 4 or placed >= set(corners):
                continue
            placed |= set(corners)
            rows = 2 * np.array([points.index(corner) for corner in corners])
            centres = [name for name, members in self._figure.members.items() if set(corners) <= set(members)]
            middle = 2 * points.index(centres[0]) if centres and centres[0] in points else rows[0]
            turns = np.exp(2j * np.pi * np.arange(len(corners)) / len(corners)) * size * len(corners) / 6
            noise = 0.15 * size * self._normal(starts.shape[1])[:, ::2]
            at_x, at_y = starts[middle, ::2].copy(), starts[middle + 1, ::2].copy()
            starts[rows, ::2] = at_x + turns.real[:, None] + noise[rows]
            starts[rows + 1, ::2] = at_y + turns.imag[:, None] + noise[rows + 1]
        self._into_frame(starts)

    def _into_frame(self, starts: Array) -> None:
        """Moves and turns the starts so that the first point is the origin and the second lies on the x axis."""
        count = len(self._figure.points)
        if count < 2:
            return
        spots = starts[0 : 2 * count : 2] + 1j * starts[1 : 2 * count : 2]
        spots = spots - spots[0]
        spots = spots * np.exp(-1j * np.angle(spots[1]))
        starts[0 : 2 * count : 2], starts[1 : 2 * count : 2] = spots.real, spots.imag

    def _normal(self, count: int) -> Array:
        return self._generator.normal(size=(len(self._scales), count))

    def _ended(self, starts: Array, choices: Ints) -> tuple[Array, Ints, Array]:
        fixed = starts.copy()
        fixed[np.setdiff1d(np.arange(len(fixed)), self._free)] = 0

        def residuals(unknowns: Array, which: Ints) -> Array:
            whole = fixed[:, which]
            whole[self._free] = unknowns * self._scales[self._free, None]
            return self._residuals(whole, choices[which])

        here, errors = descend(residuals, fixed[self._free] / self._scales[self._free, None], STEPS)
        fixed[self._free] = here * self._scales[self._free, None]
        return fixed, choices, errors

    def _residuals(self, whole: Array, choices: Ints) -> Array:
        state = self._state(whole, choices)
        rows = [np.zeros(choices.shape)]
        for _, readings, stride, is_number in self._rules:
            found = [reading(state) for reading in readings]
            firmness = 1.0 if is_number else self._firmness
            if len(found) == 1:
                rows.extend(firmness * row for row in found[0])
            else:
                digits = (choices // stride) % len(found)
                rows.extend(firmness * np.choose(digits, same) for same in zip(*found))
        return np.stack(rows)

    def _state(self, whole: Array, choices: Ints) -> State:
        points, members, symbols = self._figure.points, self._figure.members, self._figure.symbols
        radii = 2 * len(points)
        return State(
            points={name: (whole[2 * i], whole[2 * i + 1]) for i, name in enumerate(points)},
            radii={name: whole[radii + i] for i, name in enumerate(members)},
            symbols={name: whole[self._lengths + i] for i, name in enumerate(symbols)},
            members=members,
            choice=choices,
            size=self._figure.size,
        )

    def _sound(self, whole: Array, choices: Ints, *, all_distinct: bool) -> Mask:
        return is_sound(self._state(whole, choices), self._figure, all_distinct=all_distinct)

    def _looking_right(self, whole: Array, choices: Ints, errors: Array) -> tuple[Array, Ints, Array]:
        """Those figures that look like the diagram, if there is one."""
        if not self._places:
            return whole, choices, errors
        gaps = distances_to(self._places, self._state(whole, choices))
        near = gaps <= gaps.min() + 0.1
        return whole[:, near], choices[near], errors[near]

    def _judged(self, whole: Array, choices: Ints, errors: Array, tolerance: float) -> Solutions:
        state = self._state(whole, choices)
        values = tuple(_different(value_of(goal, state), tolerance, self._unit(goal)) for goal in self._figure.goals)
        is_determined = all(len(found) == 1 and np.isfinite(found[0]) for found in values)
        # Figures on the edge of an inequality converge slowly, and theorems are checked to more digits than values.
        precise = errors <= max(PRECISE, float(errors.min()))
        return Solutions(
            verdict="determined" if is_determined else "not determined",
            state=self._state(whole[:, precise], choices[precise]),
            values=values,
            is_rounded=tolerance != SAME,
        )

    def _unit(self, goal: Node) -> float:
        """Differences of far less than this are noise."""
        size = self._figure.size
        units = {"length": size, "area": size**2, "angle": 60.0, None: 1.0}
        return units[dimension_of(goal, self._figure.symbols)]

    def _inconsistent(self, whole: Array, choices: Ints) -> Solutions:
        state = self._state(whole, choices)
        worst: list[tuple[float, str]] = []
        for text, readings, stride, _ in self._rules:
            rows = readings[int(choices[0] // stride) % len(readings)](state)
            error = max(float(np.abs(np.nan_to_num(row, nan=1e6)).max()) for row in rows)
            if error > ROUNDED / 4:
                worst.append((error, text))
        broken = tuple(text for _, text in sorted(worst, key=lambda one: -one[0])[:MAX_VALUES_SHOWN])
        return Solutions(verdict="inconsistent", state=state, values=(), broken=broken)


def _joined(ends: list[tuple[Array, Ints, Array]]) -> tuple[Array, Ints, Array]:
    whole, choices, errors = zip(*ends)
    return np.concatenate(whole, axis=1), np.concatenate(choices), np.concatenate(errors)


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
