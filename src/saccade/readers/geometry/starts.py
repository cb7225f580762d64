"""Where searches begin: at random places, with the corners of polygons round a circle, and at those of a diagram.

Starts are drawn by a seeded generator; their number is bounded by the work that they make, never by the clock, so that
the same problem gets the same answer on every machine.
"""

from collections.abc import Mapping

import numpy as np

from saccade.readers.geometry.descent import Ints
from saccade.readers.geometry.diagram import Place, start_at
from saccade.readers.geometry.state import Array
from saccade.readers.geometry.system import System
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS

MAX_STARTS, MIN_STARTS = 64, 8
WORK = 3_000_000
"""Residuals that the difference quotients of all starts may compute at once; bounds the starts of large problems."""

AS_DRAWN, LIKE_DRAWN = 0.04, 0.3
"""How far points begin from where a diagram shows them, as shares of the problem's size. What keeps near to the drawing
finds its figure; what begins farther away finds others that the statements allow."""

MAX_LISTED_WAYS = 1 << 20
"""Choices of readings that are gone through in turn; of more, some are drawn."""


class Starts:
    """Draws the starts of a problem."""

    def __init__(self, system: System, places: Mapping[str, Place], generator: np.random.Generator) -> None:
        self._system = system
        self._places = places
        self._generator = generator

    def drawn(self, number: int) -> tuple[Array, Ints]:
        """Where a round begins: unknowns (unknown, batch) and choices (batch,)."""
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
