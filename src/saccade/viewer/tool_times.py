"""How long each tool took in a run, from its metrics: the one part of the report that no seed gives again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from saccade.metric_names import TIME_PREFIX
from saccade.types import Json
from saccade.viewer.evidence import Series
from saccade.viewer.words import readable

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

    def as_json(self) -> dict[str, Json]:
        """For ``report.json``."""
        return {
            "stage": self.stage,
            "tool": self.tool,
            "calls": self.calls,
            "mean_s": self.mean_s,
            "p50_s": self.p50_s,
            "p95_s": self.p95_s,
        }


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
                    mean_s=_weighted(mean, calls),
                    p50_s=_weighted(middle, calls),
                    p95_s=max(most.values(), default=0.0),
                )
            )
    return rows


def _weighted(values: Mapping[int, float], calls: Mapping[int, float]) -> float:
    total = sum(calls.get(step, 0.0) for step in values)
    return sum(value * calls.get(step, 0.0) for step, value in values.items()) / total if total else 0.0
