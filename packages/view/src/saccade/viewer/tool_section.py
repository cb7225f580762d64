"""Section of a report on tools: what went wrong, which were called for what (VISTA-Gym), and how long each took."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.evaluation.errors import ERROR_KINDS, ErrorReport, Verdict, error_report
from saccade.evaluation.reasons import wrong_reason
from saccade.evaluation.tool_use import ToolMix, tool_mix
from saccade.metric_names import TIME_PREFIX
from saccade.runs.asking import Way
from saccade.runs.segments import REASONS
from saccade.types import Attempt, ToolSpec
from saccade.viewer.evidence import Evidence, Series
from saccade.viewer.outcomes import verdict
from saccade.viewer.verdicts import JudgedEvaluation
from saccade.viewer.words import percent_text, readable, visible

KINDS: Mapping[str, str] = {
    "E1": "no call: it cannot be read, the tool does not exist, a needed argument lacks",
    "E2": "an argument has a name that the tool does not know",
    "E3": "an argument's value is not what the tool takes",
    "E4": "the call is in order and asks for the wrong thing (a judge says so)",
    "E5": "the tool gave nothing usable, or the answer is none of the kind asked for",
    "E6": "the result was right and the conclusion from it is not (a judge says so)",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUsage:
    """The tools in an evaluation, or in the last step that a training stage kept."""

    name: str
    errors: ErrorReport | None
    """None where the run did not record its tools."""
    mix: ToolMix
    judge: str | None
    reasons: Mapping[str, int]
    """Of the wrong answers, by ``REASONS``, the most frequent first."""

    @property
    def reasons_text(self) -> str:
        """Why its wrong answers are wrong, counted; empty without any."""
        counted = [f"{count:,} {REASONS[name]}" for name, count in self.reasons.items()]
        return f"{self.title}: {'; '.join(counted)}." if counted else ""

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table of errors: wrong of all, the share of each kind, what is left."""
        errors = self.errors
        if errors is None:
            return ("–",) * (len(ERROR_KINDS) + 2)
        shares = [percent_text(errors.share(kind)) if kind in errors.of_wrong else "not judged" for kind in ERROR_KINDS]
        left = percent_text(errors.unexplained / errors.wrong) if errors.wrong else "–"
        return (f"{errors.wrong:,} of {errors.trajectories:,}", *shares, left)

    @property
    def families(self) -> list[tuple[str, str, str, str, str]]:
        """Rows of the tool mix: family, questions, turns, calls, each tool with its share of the calls."""
        return [
            (
                visible(readable(name), 80),
                f"{family.trajectories:,}",
                f"{family.turns_mean:.2f}",
                f"{sum(family.calls.values()):,}",
                ", ".join(
                    f"{visible(tool, 60)} {count:,} ({percent_text(family.share(tool))})"
                    for tool, count in family.calls.items()
                )
                or "none",
            )
            for name, family in self.mix.families.items()
        ]

    @property
    def title(self) -> str:
        return visible(readable(self.name), 120)

    @property
    def verdicts_text(self) -> str:
        """Outcome of asking the judge; nothing where none was asked."""
        if self.judge is None or self.errors is None:
            return ""
        return (
            f"{self.title}: {visible(self.judge, 80)} judged {self.errors.judged:,} wrong trajectories in which a tool "
            f"ran, without a verdict on {self.errors.no_verdict:,}; {self.errors.attacks:,} more speak to the judge."
        )


def tool_usages(evidence: Evidence) -> list[ToolUsage]:
    """Usage in each evaluation and training stage that had tools, or called some all the same."""
    return [usage for usage in _usages(evidence) if usage is not None]


def _usages(evidence: Evidence) -> Iterator[ToolUsage | None]:
    for evaluation in evidence.evaluations:
        way = evaluation.asked.way if evaluation.asked else None
        judged = evidence.verdicts.get(evaluation.name)
        yield _usage(evaluation.name, evaluation.attempts, way, judged)
    for rollouts in evidence.rollouts:
        for stream in dict.fromkeys(attempt.trajectory.stream for attempt in rollouts.attempts):
            attempts = [attempt for attempt in rollouts.attempts if attempt.trajectory.stream == stream]
            name = f"{rollouts.stage}, step {rollouts.step}, {stream}"
            yield _usage(name, attempts, evidence.asked.streams.get(stream), None)


def _usage(
    name: str, attempts: Sequence[Attempt], way: Way | None, judged: JudgedEvaluation | None
) -> ToolUsage | None:
    mix = tool_mix(attempts)
    has_calls = any(family.calls for family in mix.families.values())
    if not has_calls and (way is None or not way.tools):
        return None
    specs: Sequence[ToolSpec] = way.specs if way else ()
    verdicts: Mapping[int, Verdict] | None = judged.verdicts if judged else None
    return ToolUsage(
        name=name,
        errors=error_report(attempts, specs, verdicts=verdicts) if way else None,
        mix=mix,
        judge=judged.judge if judged else None,
        reasons=_reasons(attempts),
    )


def _reasons(attempts: Sequence[Attempt]) -> Mapping[str, int]:
    wrong = [one for one in attempts if verdict(one) == "wrong"]
    return dict(Counter(map(wrong_reason, wrong)).most_common())


_CALLS = re.compile(rf"{TIME_PREFIX}(?P<where>(?:[a-z_]+/)?)tools/(?P<tool>[^/]+)/calls")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolTime:
    """A tool in a stage; seconds."""

    stage: str
    tool: str
    calls: int
    mean_s: float
    p50_s: float
    """The mean of the records' medians, weighted by their calls."""
    p95_s: float
    """95th percentile of the worst record."""

    @property
    def cells(self) -> tuple[str, str, str, str, str, str]:
        """A row of the report's table."""
        return (
            readable(self.stage),
            self.tool,
            f"{self.calls:,}",
            *(f"{1000 * seconds:,.1f} ms" for seconds in (self.mean_s, self.p50_s, self.p95_s)),
        )  # type: ignore[return-value]


def tool_times_of(curves: Mapping[str, Mapping[str, Series]]) -> list[ToolTime]:
    """A row for each tool of each stage, and of the evaluations inside it."""
    rows = []
    for stage, metrics in curves.items():
        for name in metrics:
            match = _CALLS.fullmatch(name)
            if match is None:
                continue
            prefix = name.removesuffix("calls")
            calls = dict(metrics[name])
            mean, middle, most = (dict(metrics.get(f"{prefix}{kind}", ())) for kind in ("mean_s", "p50_s", "p95_s"))
            total = sum(calls.values())
            where = match["where"].rstrip("/")
            rows.append(
                ToolTime(
                    stage=f"{stage}, {where}" if where else stage,
                    tool=match["tool"],
                    calls=round(total),
                    mean_s=_weighted_mean(mean, calls),
                    p50_s=_weighted_mean(middle, calls),
                    p95_s=max(most.values(), default=0.0),
                )
            )
    return rows


def _weighted_mean(values: Mapping[int, float], calls: Mapping[int, float]) -> float:
    total = sum(calls.get(step, 0.0) for step in values)
    return sum(value * calls.get(step, 0.0) for step, value in values.items()) / total if total else 0.0
