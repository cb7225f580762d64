"""How tools were used: how often, with what success, and whether more where questions are hard."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from saccade.rewards.deepeyes import call_outcome, calls_of
from saccade.rewards.outcome import is_correct
from saccade.types import Attempt, Json, Trajectory, Turn

ACCURACY_BOUNDS = (0.0, 0.25, 0.5, 0.75)
"""Where the bands of group accuracy begin; each ends before the next, and the last holds 1."""

ERROR_KIND = "error_kind"
"""Key of ``ToolResult.data`` under which a tool says how a call failed."""

_KIND = re.compile(r"[a-z_]{1,32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class DifficultyBand:
    """Calls in groups whose share of right answers lies in a band; ``calls_mean`` is per trajectory."""

    low: float
    calls_mean: float
    groups: int

    def as_json(self) -> dict[str, Json]:
        return {"low": self.low, "calls_mean": self.calls_mean, "groups": self.groups}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """Over the trajectories that the machine did not fail; means are None where there is nothing to take them of.

    A call that was refused (unknown tool, wrong arguments) is a call that did not succeed. A call that nobody ran,
    since the episode ended with it, is none.
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
    bands: tuple[DifficultyBand, ...] = ()
    """By accuracy of the group (task and stream), from low to high; bands without a group are left out. A task that
    was played once is right or wrong: the first and the last band."""

    def as_json(self) -> dict[str, Json]:
        return {
            "calls_mean": self.calls_mean,
            "success_rate": self.success_rate,
            "answered_without_call": self.answered_without_call,
            "failures": dict(self.failures),
            "bands": [band.as_json() for band in self.bands],
        }


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
