"""A problem as a least-squares system, solved by the Levenberg-Marquardt method for many starts at once.

Unknown are the coordinates, with the first point in the origin and the second on the x axis, the radii and the letters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.readers.geometry.configuration import Place, is_nondegenerate, readings_shown
from saccade.readers.geometry.constraints import readings_of
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.residuals import Reading
from saccade.readers.geometry.terms import written
from saccade.readers.geometry.values import Array, FigureBatch, Ints, Mask

Residuals = Callable[[Array, Ints], Array]
"""Unknowns (unknown, batch) and which starts they belong to (batch,) to residuals (equation, batch)."""

STEP = 1e-7
"""Step of the difference quotients; unknowns are of the order of 1."""

CONVERGED = 1e-11
"""Bound of the largest residual; a start that has it is left alone."""

_FIRST_DAMPING = 1e-2
_LEAST_DAMPING, _MOST_DAMPING = 1e-14, 1e8


def descend(residuals: Residuals, starts: Array, steps: int) -> tuple[Array, Array]:
    """The unknowns (unknown, batch) after at most ``steps`` steps downhill, and their largest residual (batch,)."""
    places, count = starts.copy(), starts.shape[1]
    every = np.arange(count, dtype=np.int64)
    errors = _finite(residuals(places, every))
    damping = np.full(count, _FIRST_DAMPING)
    active = every[np.abs(errors).max(axis=0) > CONVERGED]
    for _ in range(steps):
        if not len(active):
            break
        here, error = places[:, active], errors[:, active]
        slope = _slopes(residuals, here, error, active)
        moved = here + _steps(slope, error, damping[active])
        moved_error = _finite(residuals(moved, active))
        better = (moved_error**2).sum(axis=0) < (error**2).sum(axis=0)
        places[:, active[better]], errors[:, active[better]] = moved[:, better], moved_error[:, better]
        damping[active] = np.maximum(damping[active] * np.where(better, 0.2, 6.0), _LEAST_DAMPING)
        is_done = (np.abs(errors[:, active]).max(axis=0) <= CONVERGED) | (damping[active] > _MOST_DAMPING)
        active = active[~is_done]
    return places, np.abs(errors).max(axis=0)


def _slopes(residuals: Residuals, here: Array, error: Array, active: Ints) -> Array:
    """Difference quotients (batch, equation, unknown), all from one call of the residuals."""
    unknowns, count = here.shape
    shifted = np.repeat(here[:, None, :], unknowns, axis=1)
    each = np.arange(unknowns)
    shifted[each, each, :] += STEP
    values = _finite(residuals(shifted.reshape(unknowns, -1), np.tile(active, unknowns)))
    slope = (values.reshape(len(error), unknowns, count) - error[:, None, :]) / STEP
    turned: Array = slope.transpose(2, 0, 1)
    return turned


def _steps(slope: Array, error: Array, damping: Array) -> Array:
    """The damped Gauss-Newton step (unknown, batch)."""
    normal = slope.transpose(0, 2, 1) @ slope
    gradient = slope.transpose(0, 2, 1) @ error.T[:, :, None]
    diagonal = np.einsum("bii->bi", normal)
    # Never without damping: directions that change nothing would make the matrix singular.
    diagonal += damping[:, None] * (diagonal + 1e-3) + 1e-13
    return np.asarray(np.linalg.solve(normal, -gradient)[:, :, 0].T, np.float64)


def _finite(values: Array) -> Array:
    return np.clip(np.nan_to_num(values, nan=1e6, posinf=1e6, neginf=-1e6), -1e6, 1e6)


STEPS = 120

BROKEN = 1e-3
"""The least residual of a statement that is named as broken."""

MAX_WAYS = 1 << 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends:
    """Results of descents, one for each start of the batch."""

    whole: Array
    """Unknowns (unknown, batch)."""
    choices: Ints
    """Readings (batch,)."""
    errors: Array
    """Largest residuals (batch,)."""

    def where(self, chosen: Mask | Ints) -> "Ends":
        """The chosen ones of the batch."""
        return Ends(whole=self.whole[:, chosen], choices=self.choices[chosen], errors=self.errors[chosen])

    def __add__(self, other: "Ends") -> "Ends":
        return Ends(
            whole=np.concatenate([self.whole, other.whole], axis=1),
            choices=np.concatenate([self.choices, other.choices]),
            errors=np.concatenate([self.errors, other.errors]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """A statement with its readings."""

    text: str
    readings: Sequence[Reading]
    stride: int
    """Its digit in the number of a choice."""
    is_number: bool
    """Whether it says how much, not how."""

    def residuals(self, state: FigureBatch) -> list[Array]:
        """Residuals of the reading that is chosen in each figure."""
        found = [reading(state) for reading in self.readings]
        if len(found) == 1:
            return found[0]
        digits = (state.choice // self.stride) % len(found)
        return [np.choose(digits, same) for same in zip(*found)]


class System:
    """The unknowns and the rules of a problem."""

    def __init__(self, figure: Figure, places: Mapping[str, Place]) -> None:
        self.figure = figure
        self.ways = 1
        """How many choices of readings there are."""
        self._rules: list[_Rule] = []
        for said in figure.given:
            readings = readings_shown(readings_of(said, figure), said, places)
            if readings:
                rule = _Rule(text=written(said), readings=readings, stride=self.ways, is_number=said.name == "Equals")
                self._rules.append(rule)
                self.ways = min(self.ways * len(readings), MAX_WAYS)
        coordinates = 2 * len(figure.points)
        self.radii = range(coordinates, coordinates + len(figure.members))
        """Rows of the circles' radii."""
        units = {"angle": 40.0, "length": figure.size, "area": figure.size**2, None: 5.0}
        letters = [units[kind] for kind in figure.symbols.values()]
        self.scales = np.array([figure.size] * self.radii.stop + letters)
        """Order of magnitude of each unknown."""
        self.free: Ints = np.array(
            [row for row in range(len(self.scales)) if row >= coordinates or row not in (0, 1, 3)], np.int64
        )
        """Rows that are not fixed by where the first two points are."""

    def state(self, whole: Array, choices: Ints) -> FigureBatch:
        """The unknowns by their names."""
        figure = self.figure
        return FigureBatch(
            points={name: (whole[2 * i], whole[2 * i + 1]) for i, name in enumerate(figure.points)},
            radii={name: whole[row] for name, row in zip(figure.members, self.radii)},
            symbols={name: whole[self.radii.stop + i] for i, name in enumerate(figure.symbols)},
            members=figure.members,
            choice=choices,
            size=figure.size,
        )

    def residuals(self, whole: Array, choices: Ints, firmness: float = 1.0) -> Array:
        """The statements' residuals (equation, batch); those that are no numbers count ``firmness`` times."""
        state = self.state(whole, choices)
        rows = [np.zeros(choices.shape)]
        for rule in self._rules:
            factor = 1.0 if rule.is_number else firmness
            rows.extend(factor * row for row in rule.residuals(state))
        return np.stack(rows)

    def descend(self, starts: Array, choices: Ints, firmness: float = 1.0) -> Ends:
        """The results of descending from the starts."""
        fixed = starts.copy()
        fixed[np.setdiff1d(np.arange(len(fixed)), self.free)] = 0
        scales = self.scales[self.free, None]

        def residuals(unknowns: Array, which: Ints) -> Array:
            whole = fixed[:, which]
            whole[self.free] = unknowns * scales
            return self.residuals(whole, choices[which], firmness)

        here, errors = descend(residuals, fixed[self.free] / scales, STEPS)
        fixed[self.free] = here * scales
        return Ends(whole=fixed, choices=choices, errors=errors)

    def nondegenerate(self, ends: Ends, *, all_distinct: bool, coarseness: float = 1.0) -> Mask:
        """Which of them are not degenerate."""
        state = self.state(ends.whole, ends.choices)
        return is_nondegenerate(state, self.figure, all_distinct=all_distinct, coarseness=coarseness)

    def broken_statements(self, ends: Ends) -> list[str]:
        """Statements that a single figure does not fulfil, the worst first."""
        state = self.state(ends.whole, ends.choices)
        worst: list[tuple[float, str]] = []
        for rule in self._rules:
            error = max(float(np.abs(np.nan_to_num(row, nan=1e6)).max()) for row in rule.residuals(state))
            if error > BROKEN:
                worst.append((error, rule.text))
        return [text for _, text in sorted(worst, key=lambda one: -one[0])]
