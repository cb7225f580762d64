"""Scattered markers: the centre of each, those that touch taken apart."""

import cv2
import numpy as np

from saccade.geometry import Box, Point
from saccade.readers.charts.marks import Layer, Piece


def markers_of(layer: Layer) -> list[Box]:
    """The boxes of the markers of one colour, from left to right."""
    whole = [piece for piece in layer.pieces if piece.is_marker_like]
    if not whole:
        return []
    side = float(np.median([(piece.box.width + piece.box.height) / 2 for piece in whole]))
    area = float(np.median([piece.area for piece in whole]))
    boxes: list[Box] = []
    for piece in layer.pieces:
        if piece.area < 0.35 * area or max(piece.box.width, piece.box.height) < 0.5 * side:
            continue
        if max(piece.box.width, piece.box.height) <= 1.3 * side:
            boxes.append(piece.box)
        else:
            boxes += _apart(layer, piece, side)
    return sorted(boxes, key=lambda box: (box.x1, box.y1))


def _apart(layer: Layer, piece: Piece, side: float) -> list[Box]:
    """Discs of the usual size that together cover a piece: where a disc fits best, again and again."""
    x1, y1, x2, y2 = (int(edge) for edge in piece.box.as_tuple())
    margin = int(side)
    crop = np.pad(layer.coverage[y1:y2, x1:x2].astype(np.float32), margin)
    radius = side / 2
    grid = np.arange(int(np.ceil(side)) | 1, dtype=np.float32)
    middle = (len(grid) - 1) / 2
    disc = ((grid[:, None] - middle) ** 2 + (grid[None, :] - middle) ** 2 <= radius**2).astype(np.float32)
    boxes: list[Box] = []
    left = crop.copy()
    while len(boxes) < 12:
        # A disc must lie inside what was drawn, and should cover what no disc before covers.
        inside = cv2.filter2D(crop, -1, disc, borderType=cv2.BORDER_CONSTANT) / disc.sum()
        fresh = cv2.filter2D(left, -1, disc, borderType=cv2.BORDER_CONSTANT) / disc.sum()
        score = fresh + 2 * np.minimum(inside, 0.97)
        score[fresh < 0.3] = -1
        score[inside < 0.85] = -1
        if score.max() < 0:
            break
        row, column = np.unravel_index(int(score.argmax()), score.shape)
        center = Point(float(column) - margin + x1 + 0.5, float(row) - margin + y1 + 0.5)
        boxes.append(Box(center.x - radius, center.y - radius, center.x + radius, center.y + radius))
        reach = int(np.ceil(middle)) + 1
        rows, columns = np.ogrid[: left.shape[0], : left.shape[1]]
        left[(rows - row) ** 2 + (columns - column) ** 2 <= (radius + 1) ** 2] = 0
        if left.sum() < 0.2 * disc.sum() or reach <= 0:
            break
    return boxes or [piece.box]
