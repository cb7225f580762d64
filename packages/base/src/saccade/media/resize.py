"""View rules: the size at which a model family sees an image, resized (Qwen-VL) or cut into tiles (InternVL)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.geometry import Box, CoordinateConvention, Frame
from saccade.media.video_rule import VideoRule
from saccade.types import ImageRef

MAX_ASPECT_RATIO = 200.0

TokenGrid = tuple[int, ...]
"""Rows and columns of image tokens, then, of a whole video, where each of its patches lies in time, in positions."""


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """Image tokens that lie over a part of an image as a grid of equal cells, one row after the other."""

    rows: int
    columns: int
    part: Box
    """In pixels of the original."""


class ViewRule(Protocol):
    """How a model family sees images and in which convention it writes coordinates; ``ResizeRule`` or ``TileRule``."""

    @property
    def convention(self) -> CoordinateConvention: ...

    @property
    def largest_pixels(self) -> int:
        """No view has more pixels than this."""
        ...

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels of the whole image as the vision tower gets it."""
        ...

    def frame_for(self, image: ImageRef) -> Frame:
        """Frame in which the model writes coordinates of the whole image."""
        ...

    def token_grid(self, image: ImageRef) -> TokenGrid:
        """(rows, columns) in which the image's tokens lie; one row where a family strings them in a line."""
        ...

    def token_count(self, image: ImageRef) -> int:
        """Image tokens in the prompt: rows times columns of their grid."""
        ...

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """Parts of the image that its tokens show, in order; they may overlap where a family shows a thing twice."""
        ...


def smart_resize(width: int, height: int, *, factor: int, min_pixels: int, max_pixels: int) -> tuple[int, int]:
    """(width, height) of the view: multiples of ``factor``, area within the limits, aspect ratio nearly kept.

    The rule of the Qwen-VL families. ``factor`` is patch size times merge size, so a view is whole image tokens.
    """
    if max(width, height) > MAX_ASPECT_RATIO * min(width, height):
        raise UserError(
            f"an image of {width} x {height} px is more than {MAX_ASPECT_RATIO:.0f} times longer than wide;"
            " crop it first"
        )
    view_height = round(height / factor) * factor
    view_width = round(width / factor) * factor
    if view_height * view_width > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        view_height = max(factor, math.floor(height / shrink / factor) * factor)
        view_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif view_height * view_width < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        view_height = math.ceil(height * grow / factor) * factor
        view_width = math.ceil(width * grow / factor) * factor
    return view_width, view_height


def frame_of_view(image: ImageRef, view_size: tuple[int, int], convention: CoordinateConvention) -> Frame:
    """The frame of an image whose view has this (width, height)."""
    return Frame(
        width=image.width, height=image.height, view_width=view_size[0], view_height=view_size[1], convention=convention
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ResizeRule:
    """A view of whole image tokens, as large as the image within limits: the Qwen-VL families."""

    factor: int
    """Pixels along one side of an image token."""
    min_pixels: int
    max_pixels: int
    convention: CoordinateConvention
    video: VideoRule | None = None
    """None of a family, or a tower, that sees pictures alone."""

    @property
    def largest_pixels(self) -> int:
        # A view may pass max_pixels by its rounding to whole tokens, most when it is long and thin.
        largest = max(self.min_pixels, self.max_pixels)
        return largest + 16 * self.factor * (int(largest**0.5) + 1) + self.factor**2

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels that the vision tower gets for an original of this size."""
        return smart_resize(width, height, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels)

    def frame_for(self, image: ImageRef) -> Frame:
        return frame_of_view(image, self.view_size(image.width, image.height), self.convention)

    def token_grid(self, image: ImageRef) -> TokenGrid:
        """(rows, columns) of image tokens."""
        if image.frames > 1:
            # Frames were resized when they were joined.
            places = () if self.video is None else self.video.patch_places(image)
            return image.height // image.frames // self.factor, image.width // self.factor, *places
        view_width, view_height = self.view_size(image.width, image.height)
        return view_height // self.factor, view_width // self.factor

    def token_count(self, image: ImageRef) -> int:
        """Image tokens that the view takes in the prompt."""
        rows, columns, *places = self.token_grid(image)
        return rows * columns * max(1, len(places))

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """One block over the whole image, or over the frames of each patch of a whole video."""
        rows, columns, *places = self.token_grid(image)
        high = image.height / max(1, len(places))
        parts = [Box(0, place * high, image.width, (place + 1) * high) for place in range(max(1, len(places)))]
        return tuple(TokenBlock(rows, columns, part) for part in parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilledRule(ResizeRule):
    """A view of as many whole image tokens as ``max_pixels`` holds, however small the image is: Gemma 4."""

    @property
    def largest_pixels(self) -> int:
        return self.max_pixels

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        side, most = self.factor, self.max_pixels // self.factor**2
        # Step by step as in the image processor: rounded otherwise, some pictures get another row.
        scale = math.sqrt(most * side**2 / (height * width))
        rows, columns = math.floor(scale * height / side), math.floor(scale * width / side)
        if not rows:
            rows, columns = 1, min(math.floor(width / height), most)
        elif not columns:
            rows, columns = min(math.floor(height / width), most), 1
        return columns * side, rows * side


@lru_cache(maxsize=4096)
def tile_grid(width: int, height: int, *, tile_px: int, min_tiles: int, max_tiles: int) -> tuple[int, int]:
    """(columns, rows) of the tiles: among the allowed grids the one whose shape is nearest to the image's.

    Of equally near grids the larger is taken while the image has more than half its pixels; (1, 1) when the limits
    allow no grid at all. The dynamic high resolution of InternVL 1.5 (arXiv
    2404.16821), as the family's image processor does it.
    """
    if max_tiles <= 1:
        return 1, 1
    best, smallest_gap = (1, 1), float("inf")
    for columns, rows in _grids(min_tiles, max_tiles):
        gap = abs(width / height - columns / rows)
        fills_it = width * height > 0.5 * tile_px * tile_px * columns * rows
        if gap < smallest_gap or (gap == smallest_gap and fills_it):
            best, smallest_gap = (columns, rows), gap
    return best


@lru_cache(maxsize=16)
def _grids(min_tiles: int, max_tiles: int) -> tuple[tuple[int, int], ...]:
    """All (columns, rows) within the limits, those of fewer tiles first and then those of fewer columns."""
    sides = range(1, max_tiles + 1)
    grids = [(columns, rows) for columns in sides for rows in sides if min_tiles <= columns * rows <= max_tiles]
    return tuple(sorted(grids, key=lambda grid: (grid[0] * grid[1], grid[0])))


@dataclass(frozen=True, kw_only=True, slots=True)
class TileRule:
    """The image stretched over whole tiles, each encoded by itself; more than one tile bring a thumbnail of the whole.

    Coordinates speak of the whole image: tiles have no frames of their own.
    """

    tile_px: int
    """Side of a tile."""
    tokens_per_tile: int
    min_tiles: int
    max_tiles: int
    """Without the thumbnail."""
    convention: CoordinateConvention

    @property
    def largest_pixels(self) -> int:
        return max(1, self.max_tiles) * self.tile_px**2

    def grid(self, width: int, height: int) -> tuple[int, int]:
        """(columns, rows) of tiles for an original of this size."""
        return tile_grid(width, height, tile_px=self.tile_px, min_tiles=self.min_tiles, max_tiles=self.max_tiles)

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels of the canvas that is cut into tiles; the thumbnail is not counted."""
        columns, rows = self.grid(width, height)
        return columns * self.tile_px, rows * self.tile_px

    def frame_for(self, image: ImageRef) -> Frame:
        return frame_of_view(image, self.view_size(image.width, image.height), self.convention)

    def tile_count(self, image: ImageRef) -> int:
        """Tiles that go through the vision tower, with the thumbnail."""
        columns, rows = self.grid(image.width, image.height)
        return columns * rows + (columns * rows > 1)

    def token_grid(self, image: ImageRef) -> tuple[int, int]:
        """(1, tokens): tile after tile in a line."""
        return 1, self.token_count(image)

    def token_count(self, image: ImageRef) -> int:
        """Image tokens of all tiles and of the thumbnail."""
        return self.tile_count(image) * self.tokens_per_tile

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """A block for each tile, row by row, then one over the whole image where there is a thumbnail."""
        columns, rows = self.grid(image.width, image.height)
        width, height = image.width / columns, image.height / rows
        parts = [
            Box(column * width, row * height, (column + 1) * width, (row + 1) * height)
            for row in range(rows)
            for column in range(columns)
        ]
        thumbnail = [Box(0, 0, image.width, image.height)] if len(parts) > 1 else []
        # Tiles are square, and so are their grids of tokens.
        side = math.isqrt(self.tokens_per_tile)
        return tuple(TokenBlock(side, side, part) for part in [*parts, *thumbnail])


def token_coverage(blocks: Sequence[TokenBlock], boxes: Sequence[Box]) -> NDArray[np.float64]:
    """For each token of an image, the share of its cell, 0 to 1, that the boxes cover together; shape (tokens,).

    Exact for whole and for broken cells; where boxes overlap, nothing counts twice. Boxes are in pixels of the
    original.
    """
    return np.concatenate([_of_block(block, boxes) for block in blocks])


def _of_block(block: TokenBlock, boxes: Sequence[Box]) -> NDArray[np.float64]:
    part = block.part
    inside = [shared for box in boxes if (shared := _intersection(box, part)).is_ordered]
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


def _intersection(one: Box, other: Box) -> Box:
    return Box(max(one.x1, other.x1), max(one.y1, other.y1), min(one.x2, other.x2), min(one.y2, other.y2))
