"""Starts of the search: random, from a diagram's places, and along the tangent of figures that were found.

Starts are drawn by a seeded generator; their number is bounded by the work that they make, never by the clock, so that
the same problem gets the same answer on every machine.
"""

from collections.abc import Mapping

import numpy as np

from saccade.readers.geometry.configuration import Place
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.system import Ends, System
from saccade.readers.geometry.terms import Call, Number
from saccade.readers.geometry.values import Array, Ints, names_of, value_of
from saccade.readers.geometry.vocabulary import CORNERS


def start_at(places: Mapping[str, Place], figure: Figure) -> dict[str, Place]:
    """The places turned, moved and enlarged so that they fit the search: its first point is the origin."""
    names = [name for name in figure.points if name in places]
    spots = np.array([complex(*places[name]) for name in names])
    spots -= spots[0]
    if len(spots) > 1 and abs(spots[1]) > 0:
        spots *= abs(spots[1]) / spots[1]
    spots *= _enlargement(dict(zip(names, spots)), figure)
    return {name: (float(spot.real), float(spot.imag)) for name, spot in zip(names, spots)}


def _enlargement(spots: Mapping[str, complex], figure: Figure) -> float:
    """The factor from the diagram's unit to the problem's, by the lengths that are given."""
    ratios = []
    for said in figure.given:
        match said:
            case Call("Equals", (Call("LengthOf", (Call("Line") as line,)), Number(value))):
                first, second = names_of(line)
                if first in spots and second in spots and spots[first] != spots[second]:
                    ratios.append(float(value) / abs(spots[first] - spots[second]))
    if ratios:
        return float(np.median(ratios))
    extent = max(abs(spot) for spot in spots.values())
    return figure.size / extent if extent else 1.0


MAX_STARTS, MIN_STARTS = 64, 8
WORK = 3_000_000
"""Residuals that the difference quotients of all starts may compute at once; bounds the starts of large problems."""

AS_DRAWN, LIKE_DRAWN = 0.04, 0.3
"""How far points begin from where a diagram shows them, as shares of the problem's size. What keeps near to the drawing
finds its figure; what begins farther away finds others that the statements allow."""

MAX_LISTED_WAYS = 1 << 20
"""Choices of readings that are gone through in turn; of more, some are drawn."""


class Starts:
    """The generator of a problem's starts."""

    def __init__(self, system: System, places: Mapping[str, Place], generator: np.random.Generator) -> None:
        self._system = system
        self._places = places
        self._generator = generator

    def draw(self, number: int) -> tuple[Array, Ints]:
        """The starts of a round: unknowns (unknown, batch) and choices (batch,)."""
        system = self._system
        one = self.normal(1) * system.scales[:, None]
        cost = len(system.free) * max(1, len(system.residuals(one, np.zeros(1, np.int64))))
        count = max(MIN_STARTS, min(MAX_STARTS, WORK // (cost * max(1, len(system.free)))))
        spread = float(self._generator.choice([0.7, 1.0, 2.0]))
        starts = self.normal(count) * system.scales[:, None] * spread
        starts[system.radii] = np.abs(starts[system.radii])
        self._round_polygons(starts)
        if self._places:
            self._to_diagram(starts)
        if system.ways <= MAX_LISTED_WAYS:
            return starts, (np.arange(count, dtype=np.int64) + number * count) % system.ways
        return starts, self._generator.integers(system.ways, size=count)

    def normal(self, count: int) -> Array:
        """Noise of the order of 1, (unknown, count)."""
        return self._generator.normal(size=(len(self._system.scales), count))

    def _to_diagram(self, starts: Array) -> None:
        """Moves two starts of three to the diagram's places or into their neighbourhood."""
        figure, count = self._system.figure, starts.shape[1]
        noise = figure.size * self.normal(count)
        noise[:, 0::3] *= AS_DRAWN
        noise[:, 1::3] *= LIKE_DRAWN
        noise[:, 0] = 0
        for name, (x, y) in start_at(self._places, figure).items():
            row = 2 * figure.points.index(name)
            for kind in (0, 1):
                starts[row, kind::3] = x + noise[row, kind::3]
                starts[row + 1, kind::3] = y + noise[row + 1, kind::3]

    def _round_polygons(self, starts: Array) -> None:
        """Puts the corners of polygons around a circle in every other start: at random, the sides of many cross."""
        figure = self._system.figure
        size, points = figure.size, figure.points
        placed: set[str] = set()
        for said in figure.given:
            corners = names_of(said)
            if said.name not in CORNERS or len(corners) < 4 or placed >= set(corners):
                continue
            placed |= set(corners)
            rows = 2 * np.array([points.index(corner) for corner in corners])
            centres = [name for name, members in figure.members.items() if set(corners) <= set(members)]
            middle = 2 * points.index(centres[0]) if centres and centres[0] in points else rows[0]
            turns = np.exp(2j * np.pi * np.arange(len(corners)) / len(corners)) * size * len(corners) / 6
            noise = 0.15 * size * self.normal(starts.shape[1])[:, ::2]
            at_x, at_y = starts[middle, ::2].copy(), starts[middle + 1, ::2].copy()
            starts[rows, ::2] = at_x + turns.real[:, None] + noise[rows]
            starts[rows + 1, ::2] = at_y + turns.imag[:, None] + noise[rows + 1]
        self._into_frame(starts)

    def _into_frame(self, starts: Array) -> None:
        """Moves and turns the starts so that the first point is the origin and the second lies on the x axis."""
        count = len(self._system.figure.points)
        if count < 2:
            return
        spots = starts[0 : 2 * count : 2] + 1j * starts[1 : 2 * count : 2]
        spots = spots - spots[0]
        spots = spots * np.exp(-1j * np.angle(spots[1]))
        starts[0 : 2 * count : 2], starts[1 : 2 * count : 2] = spots.real, spots.imag


FLEX_STEP = 1e-6
"""Step of the difference quotients; unknowns are of the order of 1."""

KINK = 1e-3
"""Difference of the quotients on both sides of an inequality's edge, which lets a figure go one way."""

RANK = 1e-5
"""Singular values of less than this share of the largest are directions in which nothing is demanded."""

REACHES = (0.2, 0.05, 0.01)
"""How far the most moved unknown is moved; far steps show most, near ones keep the configuration."""

ANYWHERE = 2
"""Directions drawn at random in the tangent, beside those in which the goals move most."""


def flexed(system: System, figures: Ends, generator: np.random.Generator, firmness: float = 1.0) -> Ends:
    """The figures moved along what their statements leave free, both ways, and brought back onto it.

    A figure is on a surface of figures that fulfil the same statements; the null space of the statements' Jacobian is
    the tangent of that surface. Steps along it, brought back, owe nothing to the place where the search began.
    """
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
    return system.descend(np.concatenate(starts, axis=1), np.concatenate(choices), firmness)


def _directions(system: System, one: Ends, generator: np.random.Generator, firmness: float) -> list[Array]:
    """Directions in the tangent of one figure: those that move each goal most, and some more; none if it is rigid."""
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
    forward, backward = (ahead - here) / FLEX_STEP, (here - back) / FLEX_STEP
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
        found.append((ahead - back) / (2 * FLEX_STEP))
    return found


def _shifted(system: System, one: Ends) -> tuple[Array, Ints]:
    """The figure, then it with each unknown a little greater, then with each a little less."""
    count = len(system.free)
    shifts = np.concatenate([np.zeros((count, 1)), FLEX_STEP * np.eye(count), -FLEX_STEP * np.eye(count)], axis=1)
    whole = np.repeat(one.whole, 1 + 2 * count, axis=1)
    whole[system.free] += shifts * system.scales[system.free, None]
    return whole, np.repeat(one.choices, 1 + 2 * count)
