"""Rotary positions of text and image tokens (M-RoPE), by the rule of the Qwen-VL families."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mrope_positions(
    ids: Sequence[int], grids: Sequence[tuple[int, int]], *, image_token_id: int, start: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Positions of shape (3, tokens) for time, height and width, and the position where the next token goes.

    ``grids`` are (rows, columns) of image tokens, one per image in ``ids``. Text advances all three axes by one a
    token; an image lies at one time, spreads over height and width, and advances by its longer side.
    """
    tokens = np.asarray(ids, dtype=np.int64)
    positions = np.empty((3, tokens.size), dtype=np.int64)
    is_image = tokens == image_token_id
    index, position = 0, start
    for rows, columns in grids:
        remaining = is_image[index:]
        if not remaining.any():
            raise ValueError(f"{len(grids)} images for fewer runs of image tokens")
        first = index + int(np.argmax(remaining))
        positions[:, index:first] = position + np.arange(first - index)
        position += first - index
        last = first + rows * columns
        if last > tokens.size or not is_image[first:last].all():
            raise ValueError(f"an image of {rows} x {columns} tokens has fewer placeholders at token {first}")
        positions[0, first:last] = position
        positions[1, first:last] = position + np.repeat(np.arange(rows), columns)
        positions[2, first:last] = position + np.tile(np.arange(columns), rows)
        position += max(rows, columns)
        index = last
    if is_image[index:].any():
        raise ValueError(f"image tokens at {index + int(np.argmax(is_image[index:]))} belong to no image")
    positions[:, index:] = position + np.arange(tokens.size - index)
    return positions, position + tokens.size - index
