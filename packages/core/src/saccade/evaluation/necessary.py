"""Figures of necessary calls: how much results raised the probability of the right answer, where that was asked for."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from saccade.characters import percent_text
from saccade.evaluation.figure import StageFigure
from saccade.evaluation.statistics import ClusteredMean, clustered_mean
from saccade.types import GAIN, Attempt

LEAST_GAIN = 0.1
"""A call is necessary from this gain on, and misleading from its negative on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NecessaryCalls:
    """Gains of the calls of an evaluation with ``rollout.probes_calls`` (``saccade.rollout.call_gains``).

    Intervals are over questions: answers to one are a cluster.
    """

    title: ClassVar = "necessary calls"

    gain: float
    """Mean over the calls with a gain."""
    necessary: ClusteredMean
    """Share of the calls that raised the probability of the right answer by ``LEAST_GAIN`` or more."""
    misleading: ClusteredMean
    """Share of those that lowered it by as much."""

    def describe(self) -> str:
        """``40.0 % (31.2 % to 49.5 %) of 120 calls, 5.0 % misleading; mean gain +0.21``."""
        low, high = (percent_text(end) for end in self.necessary.ci95)
        return (
            f"{percent_text(self.necessary.mean)} ({low} to {high}) of {self.necessary.n:,} calls, "
            f"{percent_text(self.misleading.mean)} misleading; mean gain {self.gain:+.2f}"
        )


def necessary_calls(attempts: Iterable[Attempt]) -> NecessaryCalls | None:
    """The figures; None where no call has a gain."""
    gains = [
        (one.task.id, float(gain))
        for one in attempts
        for turn in one.trajectory.turns
        if turn.result is not None and isinstance(gain := turn.result.data.get(GAIN), int | float)
    ]
    if not gains:
        return None
    clusters = [task for task, _ in gains]
    return NecessaryCalls(
        gain=math.fsum(gain for _, gain in gains) / len(gains),
        necessary=clustered_mean([float(gain >= LEAST_GAIN) for _, gain in gains], clusters),
        misleading=clustered_mean([float(gain <= -LEAST_GAIN) for _, gain in gains], clusters),
    )


FIGURE = StageFigure(kind=NecessaryCalls, of=necessary_calls)
