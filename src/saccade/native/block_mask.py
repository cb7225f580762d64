"""Attention masks as lists of blocks, in each of which neighbouring queries attend to neighbouring keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class BlockMask:
    """The blocks of an attention mask that are not empty."""

    groups: Tensor
    """int64 (groups, 4): first and last query, first and last block. Groups share no query."""
    blocks: Tensor
    """int64 (blocks, 5): first and last query, first key, count of keys, and whether the last query sees all of them,
    the one before it all but one, and so on."""
    order: Tensor | None = None
    """Which query is meant by each number; None where it is the number itself."""
    pairs: int = 1 << 30
    """About how many queries meet keys in all."""


MaskBlock = tuple[int, int, int, int, bool]
"""A row of ``BlockMask.blocks``."""


def block_mask(groups: Sequence[Sequence[MaskBlock]], order: Tensor | None = None) -> BlockMask:
    """From the blocks of each group, whose queries are neighbours; see ``BlockMask``."""
    bounds: list[tuple[int, int, int, int]] = []
    rows = 0
    for group in groups:
        bounds.append((min(block[0] for block in group), max(block[1] for block in group), rows, rows + len(group)))
        rows += len(group)
    blocks = [block for group in groups for block in group]
    return BlockMask(
        torch.tensor(bounds, dtype=torch.int64).view(-1, 4),
        torch.tensor(blocks, dtype=torch.int64).view(-1, 5),
        order,
        sum((last - first) * count for first, last, _, count, _ in blocks),
    )


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Keys and values that queries may attend to, alike in their strides."""

    key: Tensor
    value: Tensor
    token_stride: int
    head_stride: int
