"""The size at which the InternVL family sees an image: a canvas of equal square tiles, and a thumbnail beside them."""

import math
from dataclasses import dataclass
from functools import lru_cache

from saccade.geometry import Box, CoordinateConvention, Frame
from saccade.media.resize import TokenBlock, frame_of_view
from saccade.types import ImageRef


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
