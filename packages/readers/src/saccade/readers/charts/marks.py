"""Marks of a chart: the connected pieces of one colour as bars, strokes or markers, touching markers separated."""

from dataclasses import dataclass

import cv2
import numpy as np

from saccade.geometry import Box, Point
from saccade.readers.charts.chart import Colour
from saccade.readers.charts.colours import Coverage

MAX_MARKER_PX = 28


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One connected piece."""

    colour: Colour
    box: Box
    area: int

    @property
    def fill(self) -> float:
        """The share of its box that it covers."""
        return self.area / max(1.0, self.box.area)

    @property
    def is_bar_like(self) -> bool:
        return self.fill > 0.75 and min(self.box.width, self.box.height) >= 2

    @property
    def is_marker_like(self) -> bool:
        wide, high = self.box.width, self.box.height
        return min(wide, high) >= 4 and max(wide, high) <= MAX_MARKER_PX and self.fill > 0.45 and wide / high < 2.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """All that is drawn in one colour."""

    colour: Colour
    coverage: Coverage
    pieces: tuple[Piece, ...]

    @property
    def area(self) -> int:
        return sum(piece.area for piece in self.pieces)


def layer_of(coverage: Coverage, colour: Colour, *, least_area: int = 8) -> Layer:
    """The pieces of a coverage; thin grid lines across a piece do not part it."""
    closed = cv2.morphologyEx(coverage.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=4)
    pieces = []
    for x, y, width, height, area in stats[1:count].tolist():
        if area >= least_area:
            box = _trimmed(closed, Box(x, y, x + width, y + height))
            pieces.append(Piece(colour=colour, box=box, area=area))
    return Layer(colour=colour, coverage=coverage, pieces=tuple(pieces))


def _trimmed(mask: np.ndarray[tuple[int, int], np.dtype[np.uint8]], box: Box) -> Box:
    """The box without rows and columns at its edges that are covered less than half as well as those inside."""
    x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
    crop = mask[y1:y2, x1:x2]
    sides = []
    for axis in (0, 1):
        covered = crop.sum(axis=axis)
        inside = np.flatnonzero(covered >= 0.5 * np.median(covered))
        sides.append((int(inside[0]), int(inside[-1]) + 1))
    (left, right), (top, bottom) = sides
    return Box(x1 + left, y1 + top, x1 + right, y1 + bottom)


def kind_of(layers: tuple[Layer, ...], plot_width: float, *, has_number_axes: bool) -> str:
    """``bar``, ``line`` or ``scatter``, by which shape most of the colour is in."""
    total = sum(layer.area for layer in layers)
    pieces = [piece for layer in layers for piece in layer.pieces]
    markers = sum(piece.area for piece in pieces if piece.is_marker_like)
    if has_number_axes and markers >= 0.6 * total and not all(_is_stroke(layer) for layer in layers):
        return "scatter"
    bars = sum(piece.area for piece in pieces if piece.is_bar_like and min(piece.box.width, piece.box.height) >= 5)
    if bars >= 0.6 * total:
        return "bar"
    longest = max(_span(layer) for layer in layers)
    return "line" if longest >= 0.3 * plot_width else "unknown"


def is_thin(coverage: Coverage) -> bool:
    """Whether hardly anything of it is three pixels wide both ways."""
    opened = cv2.morphologyEx(coverage.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    return bool(coverage.any()) and float(opened.sum()) < 0.35 * float(coverage.sum())


def is_stroke_layer(layer: Layer, plot_width: float) -> bool:
    """Whether a colour is drawn as a thin line, with or without markers, through much of the plot."""
    columns = max(1, int(layer.coverage.any(axis=0).sum()))
    thickness = float(layer.coverage.sum()) / columns
    bars = sum(piece.area for piece in layer.pieces if piece.is_bar_like and piece.area > 400)
    return _span(layer) >= 0.3 * plot_width and thickness < 12 and bars < 0.3 * layer.area


def _is_stroke(layer: Layer) -> bool:
    """Whether the colour is in nearly every column of its span, and once only: a dashed line, no cloud of points."""
    columns = np.flatnonzero(layer.coverage.any(axis=0))
    if not len(columns):
        return False
    inside = layer.coverage[:, columns].astype(np.int8)
    starts = (np.diff(inside, axis=0, prepend=0) == 1).sum(axis=0)
    return len(columns) >= 0.5 * (columns[-1] - columns[0] + 1) and float(starts.mean()) < 1.2


def _span(layer: Layer) -> float:
    columns = np.flatnonzero(layer.coverage.any(axis=0))
    return float(columns[-1] - columns[0] + 1) if len(columns) else 0.0


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
