"""Weights that a batch of the local engine takes over in its midst, at a decode step that was said before it began.

The step is virtual time, not the clock's: whether the weights come early or late, the same steps are run with the same
weights, so a batch has the same bytes every time.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import groupby

from saccade.engines.engine import WeightSource
from saccade.types import VersionSpan


def spans_of(versions: Sequence[int]) -> tuple[VersionSpan, ...]:
    """Neighbours of one version together; ``versions`` are those of single tokens."""
    spans: list[VersionSpan] = []
    for version, of in groupby(versions):
        start = spans[-1].end if spans else 0
        spans.append(VersionSpan(version=version, start=start, end=start + len(list(of))))
    return tuple(spans)


class ExpectedWeights:
    """Weights on their way to one batch; any thread may give them."""

    def __init__(self, after_steps: int) -> None:
        self.are_taken = False
        """Whether the batch goes on with them."""
        self._after_steps = after_steps
        self._given: Future[tuple[WeightSource, int]] = Future()

    def give(self, source: WeightSource, version: int) -> None:
        self._given.set_result((source, version))

    @property
    def are_given(self) -> bool:
        return self._given.done()

    def weights(self) -> tuple[WeightSource, int]:
        """The weights and their version; only when they are given."""
        return self._given.result(timeout=0)

    def are_due(self, step: int) -> bool:
        """Whether they must be taken before the decode step of this number is run."""
        return not self.are_taken and step >= self._after_steps

    async def take(self) -> tuple[WeightSource, int]:
        """Waits for them."""
        given = await asyncio.shield(asyncio.wrap_future(self._given))
        self.are_taken = True
        return given
