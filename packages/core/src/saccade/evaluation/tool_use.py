"""Tool use: how often, with what success, more where questions are hard, and which tools by family (figure 3)."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from saccade.rewards.reward import is_correct
from saccade.rewards.tool_use import call_outcome, calls_of
from saccade.types import Attempt, ToolCall, Trajectory, Turn

ACCURACY_BOUNDS = (0.0, 0.25, 0.5, 0.75)
"""Lower bounds of the bands of group accuracy; each ends before the next, and the last holds 1."""

ERROR_KIND = "error_kind"
"""Key of ``ToolResult.data`` under which a tool says how a call failed."""

_KIND = re.compile(r"[a-z_]{1,32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class DifficultyBand:
    """Calls in groups whose share of right answers lies in a band; ``calls_mean`` is per trajectory."""

    low: float
    calls_mean: float
    groups: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """Tool use in the trajectories that the machine did not fail; means are None where nothing was counted.

    A call that was refused (unknown tool, wrong arguments) is a call that did not succeed. A call that was
    not run, since the episode ended with it, is none.
    """

    calls_mean: float | None = None
    """Calls per trajectory."""
    success_rate: float | None = None
    """Share of calls that succeeded."""
    answered_without_call: float | None = None
    """Share of trajectories that end with an answer and have no call."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Calls that did not succeed, by kind: ``refused``, ``idle`` (ran and did no work, where the tool checks that),
    what the tool says of it, or ``error`` without a word."""
    by_tool: Mapping[str, int] = field(default_factory=dict)
    """Calls that ran, with an error or without, by the tool's name; the most called first."""
    bands: tuple[DifficultyBand, ...] = ()
    """By accuracy of the group (task and stream), from low to high; bands without a group are left out. A task that
    was played once is right or wrong: the first and the last band."""


def tool_use(attempts: Iterable[Attempt]) -> ToolUse:
    """The measures of a batch or an evaluation."""
    fine = [attempt for attempt in attempts if attempt.trajectory.status != "failed"]
    if not fine:
        return ToolUse()
    calls = [calls_of(attempt.trajectory) for attempt in fine]
    total = sum(each.total for each in calls)
    without = [each.total == 0 and attempt.trajectory.status == "answered" for each, attempt in zip(calls, fine)]
    kinds = Counter(kind for attempt in fine for turn in attempt.trajectory.turns if (kind := failure_kind(turn)))
    return ToolUse(
        calls_mean=total / len(fine),
        success_rate=sum(each.succeeded for each in calls) / total if total else None,
        answered_without_call=sum(without) / len(fine),
        failures=dict(sorted(kinds.items())),
        by_tool={name: count for name, count in _family_tools(fine).calls.items() if name != REFUSED},
        bands=_bands(fine),
    )


def uses_tool(trajectory: Trajectory) -> bool:
    """At least one tool call ran without an error, and was not idle."""
    return calls_of(trajectory).succeeded > 0


def failure_kind(turn: Turn) -> str | None:
    """Why a turn's call did not succeed, in a word of small letters; None where it did or there was none."""
    outcome = call_outcome(turn)
    if outcome is None or outcome == "succeeded":
        return None
    if outcome == "idle":
        return "idle"
    told = turn.result.data.get(ERROR_KIND) if turn.result is not None else "refused"
    return told if isinstance(told, str) and _KIND.fullmatch(told) else "error"


def _bands(attempts: Sequence[Attempt]) -> tuple[DifficultyBand, ...]:
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault((attempt.task.id, attempt.trajectory.stream), []).append(attempt)
    banded: dict[float, list[list[Attempt]]] = {}
    for members in groups.values():
        accuracy = math.fsum(map(_accuracy, members)) / len(members)
        low = max((bound for bound in ACCURACY_BOUNDS if bound <= accuracy), default=0.0)
        banded.setdefault(low, []).append(members)
    return tuple(
        DifficultyBand(low=low, calls_mean=_calls_mean(banded[low]), groups=len(banded[low])) for low in sorted(banded)
    )


def _calls_mean(groups: Sequence[Sequence[Attempt]]) -> float:
    counts = [calls_of(attempt.trajectory).total for members in groups for attempt in members]
    return sum(counts) / len(counts)


def _accuracy(attempt: Attempt) -> float:
    """As the reward says, where it does: a judge may know better than the rule of the answer's kind."""
    score = attempt.trajectory.score
    told = None if score is None else score.accuracy
    return float(is_correct(attempt.task, attempt.trajectory)) if told is None else told


LATENCY_S = "latency_s"
"""Key of ``ToolResult.data`` for the seconds that a call took, where they are recorded."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """Seconds of the calls of a tool that recorded them."""

    calls: int
    mean_s: float
    median_s: float
    p95_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMix:
    """Calls of tools by family of tasks, and how long the tools took; in alphabetical order."""

    families: Mapping[str, FamilyTools] = field(default_factory=dict)
    latencies: Mapping[str, Latency] = field(default_factory=dict)
    """Tools that recorded nothing are missing."""


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
        families={family: _family_tools(by_family[family]) for family in sorted(by_family)},
        latencies={tool: _latency(seconds[tool]) for tool in sorted(seconds)},
    )


def latency_s(turn: Turn) -> float | None:
    """The seconds that the turn's call took, where they are recorded."""
    took = turn.result.data.get(LATENCY_S) if turn.result is not None else None
    if isinstance(took, bool) or not isinstance(took, int | float) or not 0 <= took < math.inf:
        return None
    return float(took)


def _family_tools(attempts: Sequence[Attempt]) -> FamilyTools:
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
