"""Objects scattered over a picture without touching each other."""

import math
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import Canvas, Coverage
from saccade.tasks.palette import COLOURS
from saccade.tasks.scene import SIZE_PX

GAP_PX = 8
"""The least distance between the circles around two objects, and half of it to the border."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A coloured shape to draw."""

    colour: str
    shape: str
    center: Point
    radius: float

    @property
    def name(self) -> str:
        return f"{self.colour} {self.shape}"

    def draw(self, canvas: Canvas) -> Coverage:
        return canvas.shape(self.shape, self.center, self.radius, COLOURS[self.colour])


def scattered(rng: Generator, count: int, radius: float) -> list[Point]:
    """Centres with whole coordinates for circles of this radius, in random order, at least ``GAP_PX`` apart.

    Each lies in a random cell of a grid, shifted as far as the cell allows; about half of the cells stay empty
    where there is room for that. ``ValueError`` when the circles do not fit.
    """
    finest = math.floor(SIZE_PX / (2 * radius + GAP_PX))
    if count > finest**2:
        raise ValueError(f"{count} circles of radius {radius} px do not fit; use fewer or smaller ones")
    cells_per_side = min(finest, math.ceil(math.sqrt(2 * count)))
    cell_px = SIZE_PX / cells_per_side
    slack = math.floor((cell_px - 2 * radius - GAP_PX) / 2)
    centers = []
    for cell in rng.permutation(cells_per_side**2)[:count]:
        row, column = divmod(int(cell), cells_per_side)
        shift_x, shift_y = (int(shift) for shift in rng.integers(-slack, slack + 1, size=2))
        centers.append(
            Point(math.floor((column + 0.5) * cell_px) + shift_x, math.floor((row + 0.5) * cell_px) + shift_y)
        )
    return centers
