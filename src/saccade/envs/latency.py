"""How long tools take: the wall time of each call, kept beside the trajectories and never in them.

No seed gives these numbers again, so they must not touch what a run repeats: they go where other times go.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np


class ToolLatencies:
    """Collects how long calls took, from any number of environments and threads, until somebody takes it."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, float]] = []

    def record(self, tool: str, seconds: float) -> None:
        """A call took so long, whatever became of it."""
        # One append, which threads cannot tear.
        self._calls.append((tool, seconds))

    @contextmanager
    def timing(self, tool: str) -> Iterator[None]:
        """Records how long the block takes, also when it raises."""
        started_s = time.perf_counter()
        try:
            yield
        finally:
            self.record(tool, time.perf_counter() - started_s)

    def take(self) -> list[tuple[str, float]]:
        """The calls since the last time, by tool and seconds."""
        taken, self._calls = self._calls, []
        return taken


def tool_times(latencies: Iterable[ToolLatencies]) -> dict[str, float]:
    """Takes what was collected and sums it up per tool: ``tools/NAME/calls``, and ``mean_s``, ``p50_s``, ``p95_s``."""
    seconds: dict[str, list[float]] = {}
    for one in latencies:
        for tool, took_s in one.take():
            seconds.setdefault(tool, []).append(took_s)
    times: dict[str, float] = {}
    for tool, taken in sorted(seconds.items()):
        times[f"tools/{tool}/calls"] = float(len(taken))
        times[f"tools/{tool}/mean_s"] = float(np.mean(taken))
        times[f"tools/{tool}/p50_s"] = float(np.percentile(taken, 50))
        times[f"tools/{tool}/p95_s"] = float(np.percentile(taken, 95))
    return times
