"""The attention of a pack for the native kernels: all of it, or that of some of its tokens."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from saccade.models.attention import Layout, Span
from saccade.models.native.visits import Visit, Visits, visits_of


def pack_visits(layout: Layout, asking: NDArray[np.int64]) -> Visits:
    """The attention of a pack's tokens ``asking``, in rising order: branches look at their trunk and at themselves."""

    def own(span: Span) -> Iterator[Visit]:
        """Each run of neighbours looks from the span's first token to its own last one."""
        first, last = np.searchsorted(asking, (span.start, span.stop))
        cuts = np.flatnonzero(np.diff(asking[first:last]) > 1) + 1 + first
        for start, stop in zip((first, *cuts), (*cuts, last)):
            if stop > start:
                yield int(start), int(stop), span.start, int(asking[stop - 1]) + 1 - span.start, True

    families: list[list[Visit]] = []
    for grown in layout:
        first, last = np.searchsorted(asking, (grown.crown.start, grown.crown.stop))
        family = [*own(grown.trunk)]
        if last > first and grown.trunk.length:
            family.append((int(first), int(last), grown.trunk.start, grown.trunk.length, False))
        for run in grown.runs:
            length = run.span.length // run.count
            for start in range(run.span.start, run.span.stop, length):
                family += own(Span(start, start + length))
        if family:
            families.append(family)
    return visits_of(families)
