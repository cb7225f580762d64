"""The attention mask of a pack for the native kernels: of all of its tokens, or of some as queries."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from saccade.models.attention import Layout, Span
from saccade.native.block_mask import BlockMask, MaskBlock, block_mask


def pack_mask(layout: Layout, queries: NDArray[np.int64]) -> BlockMask:
    """The mask of a pack's tokens ``queries``, in rising order: suffixes attend to their prefix and to themselves."""

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
        if group:
            groups.append(group)
    return block_mask(groups)
