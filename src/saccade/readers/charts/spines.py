"""The lines of the axes, and their tick marks, which character recognition takes for dashes and strokes of letters."""

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.readers.charts.colours import Coverage, Pixels

LEAST_SHARE = 0.4
"""Least length of an axis, as a share of the picture's side."""
MAX_TICK_WIDTH_PX = 4
MAX_TICK_LENGTH_PX = 14


def without_tick_marks(pixels: Pixels) -> Pixels:
    """A copy whose left and bottom axes have no tick marks on their outer sides."""
    paper = _page(pixels)
    cleaned = _without_loose_marks(_without_marks_below(pixels, paper), paper)
    # The left axis is the bottom one of the picture turned anticlockwise.
    turned = np.rot90(cleaned, k=1)
    return np.ascontiguousarray(np.rot90(_without_marks_below(turned, paper), k=-1))


def _without_marks_below(pixels: Pixels, paper: NDArray[np.int16]) -> Pixels:
    ink = _is_ink(pixels, paper)
    axis = _lowest_line(ink)
    if axis is None or axis + 1 >= pixels.shape[0]:
        return pixels
    cleaned = pixels.copy()
    edges = _edges(np.asarray(ink[axis + 1]))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first > MAX_TICK_WIDTH_PX:
            continue
        columns = slice(first, end)
        below = ink[axis + 1 : axis + 1 + MAX_TICK_LENGTH_PX, columns].any(axis=1)
        length = below.size if below.all() else int(np.argmin(below))
        cleaned[axis + 1 : axis + 1 + length, columns] = paper.astype(np.uint8)
    return cleaned


def _without_loose_marks(pixels: Pixels, paper: NDArray[np.int16]) -> Pixels:
    """Without the tick marks of a left axis that is not drawn itself: equal short dashes below each other.

    The minus signs of numbers are such dashes too, but a digit follows each of them.
    """
    ink = _is_ink(pixels, paper)
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    marks = [
        (x, y, width, height)
        for x, y, width, height, _ in stats[1:].tolist()
        if height <= MAX_TICK_WIDTH_PX - 1
        and 3 <= width <= MAX_TICK_LENGTH_PX
        and width > height
        and not ink[max(0, y - 5) : y + height + 5, x + width : x + width + 6].any()
    ]
    cleaned = pixels.copy()
    for x, y, width, height in marks:
        if sum(abs(x + width - other_x - other_width) <= 1 for other_x, _, other_width, _ in marks) >= 3:
            cleaned[y : y + height, x : x + width] = paper.astype(np.uint8)
    return cleaned


def _lowest_line(ink: Coverage) -> int | None:
    """The last row of the lowest line that goes through much of the picture."""
    rows = np.flatnonzero(ink.sum(axis=1) >= LEAST_SHARE * ink.shape[1])
    for row in rows[::-1]:
        edges = _edges(ink[row])
        if max(end - first for first, end in zip(edges[::2], edges[1::2], strict=True)) >= LEAST_SHARE * ink.shape[1]:
            return int(row)
    return None


def _edges(row: NDArray[np.bool_]) -> list[int]:
    """Where runs of ink begin and end, in turn."""
    padded = np.concatenate([[False], row, [False]]).astype(np.int8)
    edges: list[int] = np.flatnonzero(np.diff(padded)).tolist()
    return edges


def _is_ink(pixels: Pixels, paper: NDArray[np.int16]) -> Coverage:
    """Dark and grey."""
    wide = pixels.astype(np.int16)
    is_far: Coverage = np.abs(wide - paper).max(axis=2) > 60
    is_grey: Coverage = (wide.max(axis=2) - wide.min(axis=2)) < 40
    return np.logical_and(is_far, is_grey)


def _page(pixels: Pixels) -> NDArray[np.int16]:
    """The colour of the page around the plot."""
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    page: NDArray[np.int16] = np.median(border, axis=0).astype(np.int16)
    return page
