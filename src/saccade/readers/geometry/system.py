"""A problem's unknowns in one vector, what the statements demand of them, and figures found by going downhill.

Unknown are the coordinates, with the first point in the origin and the second on the x axis, the radii and the letters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from saccade.readers.geometry.configuration import readings_shown
from saccade.readers.geometry.constraints import readings_of
from saccade.readers.geometry.degenerate import Mask, is_sound
from saccade.readers.geometry.descent import Ints, descend
from saccade.readers.geometry.diagram import Place
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.residuals import Reading
from saccade.readers.geometry.state import Array, FigureBatch
from saccade.readers.geometry.writing import written

STEPS = 120

BROKEN = 1e-3
"""The least residual of a statement that is named as broken."""

MAX_WAYS = 1 << 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends:
    """Where starts ended."""

    whole: Array
    """Unknowns (unknown, batch)."""
    choices: Ints
    """Readings (batch,)."""
    errors: Array
    """Largest residuals (batch,)."""

    def where(self, chosen: Mask | Ints) -> "Ends":
        """Those of the batch."""
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
        self.free: npt.NDArray[np.int64] = np.array(
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
        """What is demanded (equation, batch); what is no number counts ``firmness`` times."""
        state = self.state(whole, choices)
        rows = [np.zeros(choices.shape)]
        for rule in self._rules:
            factor = 1.0 if rule.is_number else firmness
            rows.extend(factor * row for row in rule.residuals(state))
        return np.stack(rows)

    def ended(self, starts: Array, choices: Ints, firmness: float = 1.0) -> Ends:
        """Where the starts end, going downhill."""
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

    def sound(self, ends: Ends, *, all_distinct: bool, coarseness: float = 1.0) -> Mask:
        """Which of them have shape."""
        state = self.state(ends.whole, ends.choices)
        return is_sound(state, self.figure, all_distinct=all_distinct, coarseness=coarseness)

    def broken(self, ends: Ends) -> list[str]:
        """Statements that a single figure does not fulfil, the worst first."""
        state = self.state(ends.whole, ends.choices)
        worst: list[tuple[float, str]] = []
        for rule in self._rules:
            error = max(float(np.abs(np.nan_to_num(row, nan=1e6)).max()) for row in rule.residuals(state))
            if error > BROKEN:
                worst.append((error, rule.text))
        return [text for _, text in sorted(worst, key=lambda one: -one[0])]
