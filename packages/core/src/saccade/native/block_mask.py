"""Attention masks as lists of blocks, in each of which neighbouring queries attend to neighbouring keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from saccade.models.attention import Layout, Span


@dataclass(frozen=True, slots=True)
class BlockMask:
    """The blocks of an attention mask that are not empty."""

    groups: Int[Tensor, "groups 4"]
    """int64: first and last query, first and last block. Groups share no query."""
    blocks: Int[Tensor, "blocks 5"]
    """int64: first and last query, first key, count of keys, and whether the last query sees all of them,
    the one before it all but one, and so on."""
    order: Int[Tensor, "queries"] | None = None
    """Which query is meant by each number; None where it is the number itself."""
    pairs: int = 1 << 30
    """About how many queries meet keys in all."""


MaskBlock = tuple[int, int, int, int, bool]
"""A row of ``BlockMask.blocks``."""


def block_mask(groups: Sequence[Sequence[MaskBlock]], order: Int[Tensor, "queries"] | None = None) -> BlockMask:
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

    key: Float[Tensor, "*where dim"]
    value: Float[Tensor, "*where dim"]
    token_stride: int
    head_stride: int


def pack_mask(layout: Layout, queries: NDArray[np.int64]) -> BlockMask:
    """The mask of a pack's tokens ``queries``, in rising order: suffixes attend to their prefix and to themselves.

    Trees that share a root are one group, since no key's gradient is added up by two groups at once.
    """

    def own(span: Span) -> Iterator[MaskBlock]:
        """Each run of neighbours attends from the span's first token to its own last one."""
        first, last = np.searchsorted(queries, (span.start, span.stop))
        cuts = np.flatnonzero(np.diff(queries[first:last]) > 1) + 1 + first
        for start, stop in zip((first, *cuts), (*cuts, last)):
            if stop > start:
                yield int(start), int(stop), span.start, int(queries[stop - 1]) + 1 - span.start, True

    groups: list[list[MaskBlock]] = []
    for node in layout:
        first, last = np.searchsorted(queries, (node.suffixes.start, node.suffixes.stop))
        group = [*own(node.prefix)]
        if last > first and node.prefix.length:
            group.append((int(first), int(last), node.prefix.start, node.prefix.length, False))
        for run in node.runs:
            length = run.span.length // run.count
            for start in range(run.span.start, run.span.stop, length):
                group += own(Span(start, start + length))
        first = np.searchsorted(queries, node.prefix.start)
        if node.root is not None and last > first:
            group.append((int(first), int(last), node.root.start, node.root.length, False))
        if group:
            groups.append(group)
    if any(node.root is not None for node in layout):
        groups = [[block for group in groups for block in group]]
    return block_mask(groups)
