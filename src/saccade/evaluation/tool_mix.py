"""Which tools were called for which family of tasks, in how many turns, and how long the tools took (figure 3)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from saccade.rewards.deepeyes import call_outcome
from saccade.types import Attempt, Json, ToolCall, Turn

LATENCY_S = "latency_s"
"""Key of ``ToolResult.data`` under which whoever ran a tool may record the seconds that it took."""

REFUSED = "refused"
"""Calls that nothing ran for, whatever name the model gave: names that do not exist would have no end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyTools:
    """One family's trajectories that the machine did not fail."""

    trajectories: int
    turns_mean: float
    calls: Mapping[str, int]
    """By tool, the most called first; refused calls under ``REFUSED``."""

    def share(self, tool: str) -> float:
        """Share of the family's calls."""
        total = sum(self.calls.values())
        return self.calls.get(tool, 0) / total if total else 0.0

    def as_json(self) -> dict[str, Json]:
        return {"trajectories": self.trajectories, "turns_mean": self.turns_mean, "calls": dict(self.calls)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """Seconds of the calls of a tool that recorded them."""

    calls: int
    mean_s: float
    median_s: float
    p95_s: float

    def as_json(self) -> dict[str, Json]:
        return {"calls": self.calls, "mean_s": self.mean_s, "median_s": self.median_s, "p95_s": self.p95_s}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMix:
    """By family and by tool, in alphabetical order."""

    families: Mapping[str, FamilyTools] = field(default_factory=dict)
    latencies: Mapping[str, Latency] = field(default_factory=dict)
    """Tools that recorded nothing are missing."""

    def as_json(self) -> dict[str, Json]:
        return {
            "families": {name: family.as_json() for name, family in self.families.items()},
            "latencies": {name: latency.as_json() for name, latency in self.latencies.items()},
        }


def tool_mix(attempts: Iterable[Attempt]) -> ToolMix:
    """The measures of an evaluation, or of demonstrations that were recorded."""
    by_family: dict[str, list[Attempt]] = {}
    seconds: dict[str, list[float]] = {}
    for attempt in attempts:
        if attempt.trajectory.status == "failed":
            continue
        by_family.setdefault(attempt.task.family, []).append(attempt)
        for turn in attempt.trajectory.turns:
            took = latency_s(turn)
            if took is not None and isinstance(turn.action, ToolCall):
                seconds.setdefault(turn.action.name, []).append(took)
    return ToolMix(
        families={family: _family(by_family[family]) for family in sorted(by_family)},
        latencies={tool: _latency(seconds[tool]) for tool in sorted(seconds)},
    )


def latency_s(turn: Turn) -> float | None:
    """What the turn's call took, where that is recorded."""
    took = turn.result.data.get(LATENCY_S) if turn.result is not None else None
    if isinstance(took, bool) or not isinstance(took, int | float) or not 0 <= took < math.inf:
        return None
    return float(took)


def _family(attempts: Sequence[Attempt]) -> FamilyTools:
    turns = [turn for attempt in attempts for turn in attempt.trajectory.turns]
    names = [
        turn.action.name if turn.result is not None else REFUSED
        for turn in turns
        if isinstance(turn.action, ToolCall) and call_outcome(turn) is not None
    ]
    ordered = sorted(Counter(names).items(), key=lambda entry: (-entry[1], entry[0]))
    return FamilyTools(trajectories=len(attempts), turns_mean=len(turns) / len(attempts), calls=dict(ordered))


def _latency(seconds: Sequence[float]) -> Latency:
    median, p95 = np.percentile(seconds, [50, 95])
    return Latency(
        calls=len(seconds), mean_s=math.fsum(seconds) / len(seconds), median_s=float(median), p95_s=float(p95)
    )
