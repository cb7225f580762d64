"""Land divided among seeds: each pixel belongs to the nearest one."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from saccade.geometry import Box, Point
from saccade.tasks.drawing import Coverage
from saccade.tasks.scene import SIZE_PX

BORDER_PX = 20
"""Seeds keep this distance from the edge of the picture."""

THROWS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Land:
    """The region of each pixel, the border lines, and how the regions touch."""

    regions: NDArray[np.intp]
    borders: Coverage
    contact: NDArray[np.intp]
    """Pixels along which two regions touch, (region, region)."""
    depth: NDArray[np.float32]
    """About how far each pixel is from its region's border."""

    def deepest(self, region: int) -> Point:
        """The pixel of a region that is furthest from its border: the place for its name."""
        depth = np.where(self.regions == region, self.depth, -1)
        row, column = divmod(int(depth.argmax()), SIZE_PX)
        return Point(column, row)

    def holds(self, region: int, box: Box) -> bool:
        """The box lies inside the picture and the region."""
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        if x1 < 0 or y1 < 0 or x2 > SIZE_PX or y2 > SIZE_PX:
            return False
        return bool((self.regions[y1:y2, x1:x2] == region).all())


def divided_land(rng: Generator, count: int, least_distance: float) -> Land:
    """Land around random seeds that keep a distance from each other."""
    seeds = _seeds(rng, count, least_distance)
    pixels = np.arange(SIZE_PX, dtype=np.float32) + np.float32(0.5)
    centers = np.array(seeds, dtype=np.float32)
    across, down = (pixels - centers[:, :1]) ** 2, (pixels - centers[:, 1:]) ** 2
    squared = down[:, :, None] + across[:, None, :]
    regions = squared.argmin(axis=0)
    nearest = np.sqrt(squared.min(axis=0))
    np.put_along_axis(squared, regions[None], np.inf, axis=0)
    second = np.sqrt(squared.min(axis=0))
    to_side = np.minimum(pixels, SIZE_PX - pixels)
    to_edge = np.minimum(to_side[:, None], to_side[None, :])
    borders = np.zeros((SIZE_PX, SIZE_PX), dtype=bool)
    contact = np.zeros((count, count), dtype=np.intp)
    rest, all_but_last, but_first = slice(None), slice(None, -1), slice(1, None)
    for here, there in (((rest, all_but_last), (rest, but_first)), ((all_but_last, rest), (but_first, rest))):
        differs = regions[here] != regions[there]
        borders[here] |= differs
        borders[there] |= differs
        np.add.at(contact, (regions[here][differs], regions[there][differs]), 1)
    return Land(
        regions=regions,
        borders=borders,
        contact=contact + contact.T,
        depth=np.minimum((second - nearest) / 2, to_edge),
    )


def _seeds(rng: Generator, count: int, least_distance: float) -> list[tuple[float, float]]:
    """Thrown one after the other; those too near an earlier one are dropped, and all if too few are left."""
    while True:
        kept: list[tuple[float, float]] = []
        for x, y in rng.uniform(BORDER_PX, SIZE_PX - BORDER_PX, size=(THROWS, 2)).tolist():
            if all((x - a) ** 2 + (y - b) ** 2 >= least_distance**2 for a, b in kept):
                kept.append((x, y))
            if len(kept) == count:
                return kept
