"""How much of what each image token shows lies inside boxes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.media.resize import TokenBlock


def token_coverage(blocks: Sequence[TokenBlock], boxes: Sequence[Box]) -> NDArray[np.float64]:
    """For each token of an image, the share of its cell, 0 to 1, that the boxes cover together; shape (tokens,).

    Exact for whole and for broken cells; where boxes overlap, nothing counts twice. Boxes are in pixels of the
    original.
    """
    return np.concatenate([_of_block(block, boxes) for block in blocks])


def _of_block(block: TokenBlock, boxes: Sequence[Box]) -> NDArray[np.float64]:
    part = block.part
    inside = [shared for box in boxes if (shared := _shared(box, part)).is_ordered]
    columns = np.linspace(part.x1, part.x2, block.columns + 1)
    rows = np.linspace(part.y1, part.y2, block.rows + 1)
    # Every edge cuts the plane, so that a piece lies wholly inside or outside of each box and in one cell.
    xs = np.unique(np.concatenate([columns, [side for box in inside for side in (box.x1, box.x2)]]))
    ys = np.unique(np.concatenate([rows, [side for box in inside for side in (box.y1, box.y2)]]))
    is_covered = np.zeros((ys.size - 1, xs.size - 1), dtype=bool)
    for box in inside:
        wide = (xs[:-1] >= box.x1) & (xs[1:] <= box.x2)
        high = (ys[:-1] >= box.y1) & (ys[1:] <= box.y2)
        is_covered |= high[:, None] & wide
    pieces = is_covered * np.diff(ys)[:, None] * np.diff(xs)
    by_row = np.add.reduceat(pieces, np.searchsorted(ys, rows[:-1]), axis=0)
    by_cell = np.add.reduceat(by_row, np.searchsorted(xs, columns[:-1]), axis=1)
    cells = np.diff(rows)[:, None] * np.diff(columns)
    return (by_cell / cells).ravel()


def _shared(one: Box, other: Box) -> Box:
    return Box(max(one.x1, other.x1), max(one.y1, other.y1), min(one.x2, other.x2), min(one.y2, other.y2))
