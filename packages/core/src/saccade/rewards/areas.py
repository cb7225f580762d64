"""Exact areas on a picture of unions of boxes, and of what they hold of its targets."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box, Mask
from saccade.types import ImageRef, Target

Cells = NDArray[np.bool_]
"""Which cells of the picture, as it is cut along all edges of the boxes, belong to a region: (rows, columns)."""


class PictureAreas:
    """A picture cut along the edges of its targets and of all ``boxes``, in pixels of its original.

    Where a target has a mask, the targets of the picture count by whole pixels.
    """

    def __init__(self, image: ImageRef, targets: Sequence[Target], boxes: Sequence[Box]) -> None:
        self._image = image
        edges = [box.clipped(image.width, image.height) for box in (*boxes, *(one.box for one in targets))]
        self._xs = np.unique([0.0, image.width, *(x for box in edges for x in (box.x1, box.x2))])
        self._ys = np.unique([0.0, image.height, *(y for box in edges for y in (box.y1, box.y2))])
        self._areas = np.outer(np.diff(self._ys), np.diff(self._xs))
        if any(one.mask for one in targets):
            drawn = [_mask_of(one, image).to_array() for one in targets]
            self._targets = [self._pixels_of(one) for one in drawn]
            self._union = self._pixels_of(reduce(np.logical_or, drawn))
        else:
            self._targets = [self._areas * self.inside([one.box]) for one in targets]
            self._union = self._areas * self.inside([one.box for one in targets])

    @property
    def whole_px(self) -> float:
        return float(self._image.width * self._image.height)

    @property
    def targets_px(self) -> float:
        """Area of the union of the targets."""
        return float(self._union.sum())

    def inside(self, boxes: Sequence[Box]) -> Cells:
        """The cells that lie in one of the boxes, which must be among those that it was cut along."""
        cells = np.zeros(self._areas.shape, dtype=bool)
        for box in boxes:
            x1, y1, x2, y2 = box.clipped(self._image.width, self._image.height).as_tuple()
            rows, columns = np.searchsorted(self._ys, (y1, y2)), np.searchsorted(self._xs, (x1, x2))
            cells[rows[0] : rows[1], columns[0] : columns[1]] = True
        return cells

    def boxes_of(self, cells: Cells) -> list[Box]:
        """Boxes that make up the region: a run of cells each, row by row."""
        edges = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
        return [
            Box(float(self._xs[x1]), float(self._ys[y]), float(self._xs[x2]), float(self._ys[y + 1]))
            for (y, x1), (_, x2) in zip(starts, ends)
        ]

    def area(self, cells: Cells) -> float:
        return float(self._areas[cells].sum())

    def hits(self, cells: Cells) -> float:
        """Area of the targets' union in the cells."""
        return float(self._union[cells].sum())

    def target_shares(self, cells: Cells) -> list[tuple[float, float]]:
        """Of each target with an area the share in the cells, and the target's own share of the picture."""
        sizes = [(one, float(one.sum())) for one in self._targets]
        return [(float(one[cells].sum()) / size, size / self.whole_px) for one, size in sizes if size]

    def _pixels_of(self, drawn: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Area of the drawn pixels in each cell; an edge inside a pixel parts it."""
        rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
        if not len(rows):
            return np.zeros_like(self._areas)
        # Most masks fill a small part of their picture.
        part = drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float64)
        along = np.diff(_summed(part, self._ys - rows[0]), axis=0)
        return np.diff(_summed(along.T, self._xs - columns[0]), axis=0).T


def _summed(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the first axis up to each edge, which may lie between two places or outside."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    inside = np.clip(edges, 0, len(values))
    low = np.minimum(inside.astype(int), len(values) - 1)
    share = (inside - low)[:, None]
    summed: NDArray[np.float64] = sums[low] * (1 - share) + sums[low + 1] * share
    return summed


def _mask_of(target: Target, image: ImageRef) -> Mask:
    """The target's mask, else that of its box, and so where its mask is of another size than the picture."""
    mask = target.mask
    if mask is not None and (mask.width, mask.height) == (image.width, image.height):
        return mask
    return Mask.from_box(target.box, image.width, image.height)
