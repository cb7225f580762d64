"""Rotary positions of text and image tokens: plain ones, and those of the Qwen-VL families (M-RoPE).

Both have shape (3, tokens), for time, height and width, so that no other module needs to know which a family uses.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def image_runs(ids: Sequence[int], counts: Sequence[int], *, image_token_id: int) -> list[int]:
    """Where each image's placeholders begin in ``ids``; ValueError unless there are ``counts`` of them in a row."""
    is_image = np.asarray(ids, dtype=np.int64) == image_token_id
    index = 0
    starts: list[int] = []
    for count in counts:
        remaining = is_image[index:]
        if not remaining.any():
            raise ValueError(f"{len(counts)} images for fewer runs of image tokens")
        first = index + int(np.argmax(remaining))
        index = first + count
        if index > is_image.size or not is_image[first:index].all():
            raise ValueError(f"an image of {count} tokens has fewer placeholders at token {first}")
        starts.append(first)
    if is_image[index:].any():
        raise ValueError(f"image tokens at {index + int(np.argmax(is_image[index:]))} belong to no image")
    return starts


def mrope_positions(
    ids: Sequence[int], grids: Sequence[tuple[int, int]], *, image_token_id: int, start: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Positions of shape (3, tokens) for time, height and width, and the position where the next token goes.

    ``grids`` are (rows, columns) of image tokens, one per image in ``ids``. Text advances all three axes by one a
    token; an image lies at one time, spreads over height and width, and advances by its longer side.
    """
    runs = image_runs(ids, [rows * columns for rows, columns in grids], image_token_id=image_token_id)
    positions = np.empty((3, len(ids)), dtype=np.int64)
    index, position = 0, start
    for first, (rows, columns) in zip(runs, grids):
        positions[:, index:first] = position + np.arange(first - index)
        position += first - index
        index = first + rows * columns
        positions[0, first:index] = position
        positions[1, first:index] = position + np.repeat(np.arange(rows), columns)
        positions[2, first:index] = position + np.tile(np.arange(columns), rows)
        position += max(rows, columns)
    positions[:, index:] = position + np.arange(len(ids) - index)
    return positions, position + len(ids) - index


def plain_positions(
    ids: Sequence[int], counts: Sequence[int], *, image_token_id: int, start: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Positions of shape (3, tokens), the same on all axes and one further with each token, and the next position.

    ``counts`` are the placeholders of each image in ``ids``.
    """
    image_runs(ids, counts, image_token_id=image_token_id)
    positions = np.broadcast_to(start + np.arange(len(ids), dtype=np.int64), (3, len(ids)))
    return positions.copy(), start + len(ids)
