"""Curves of a run: metrics by stage in columns, read further as the file grows, and thinned for a screen."""

import errno
import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from saccade import metric_names as metric
from saccade.plain_files import open_plain
from saccade.types import Json
from saccade.viewer.panels import PANELS, lines_of

MAX_POINTS = 2000
_MAX_METRICS = 500
_TELLING = tuple(
    map(
        re.compile,
        (
            r"^reward/mean$",
            r"^reward$",
            r"accuracy",
            r"^eval",
            r"^loss",
            r"reward",
            r"entropy",
            r"^kl|/kl",
            r"length|tokens_mean",
            r"tool|calls",
            r"gradient|grad_norm",
        ),
    )
)
"""Metrics that say most of how a run goes, in the order in which a page shows them."""
_MAX_LINE_BYTES = 4 << 20


@dataclass(kw_only=True)
class StageCurves:
    """Columns of one stage: a value for each record of it, None where it has none."""

    steps: list[int] = field(default_factory=list)
    metrics: dict[str, list[float | None]] = field(default_factory=dict)

    def add(self, step: int, values: dict[str, float]) -> None:
        for name in values:
            if name not in self.metrics and len(self.metrics) < _MAX_METRICS:
                self.metrics[name] = [None] * len(self.steps)
        self.steps.append(step)
        for name, column in self.metrics.items():
            value = values.get(name)
            column.append(value if value is not None and math.isfinite(value) else None)


@dataclass(kw_only=True)
class Curves:
    """``metrics.jsonl`` as far as it was read; ``refresh`` reads on, or anew where the file was cut."""

    path: Path
    stages: dict[str, StageCurves] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _end: int = 0
    _lines: int = 0
    _last: bytes = b""
    """The last line that was read: a run that went back to a checkpoint has another there."""

    def refresh(self) -> None:
        try:
            with open_plain(self.path) as file:
                file.seek(max(0, self._end - len(self._last)))
                if file.read(len(self._last)) != self._last:
                    self._anew()
                    file.seek(0)
                while (line := file.readline(2 * _MAX_LINE_BYTES)).endswith(b"\n"):
                    self._end += len(line)
                    self._lines += 1
                    self._last = line[-4096:]
                    self._add(line)
                if len(line) == 2 * _MAX_LINE_BYTES:
                    raise OSError(errno.EFBIG, "a line has no end")
        except FileNotFoundError:
            self._anew()
        except OSError as error:
            self.notes = [f"{self.path.name} cannot be read: {error.strerror}"]

    def _anew(self) -> None:
        self.stages, self.notes, self._end, self._lines, self._last = {}, [], 0, 0, b""

    def _add(self, line: bytes) -> None:
        try:
            if len(line) > _MAX_LINE_BYTES:
                raise ValueError(f"a line of {len(line)} bytes")
            values = json.loads(line)
            stage, step = str(values.pop("stage"))[:200], int(values.pop("step"))
            numbers = {
                str(name)[:200]: float(value)
                for name, value in values.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            if len(self.notes) < 20:
                self.notes.append(f"{self.path.name}:{self._lines}: no record of metrics: {str(error)[:200]}")
            return
        self.stages.setdefault(stage, StageCurves()).add(step, numbers)


def curves_json(
    curves: Curves, samples: dict[str, dict[int, int]], evaluations: Collection[str] = ()
) -> dict[str, Json]:
    """Every stage that is no evaluation, thinned; ``samples`` are trajectories by stage and step, as far as they are
    indexed."""
    grow = {name: stage for name, stage in curves.stages.items() if name not in evaluations}
    return {"stages": {name: _stage_json(stage, samples.get(name, {})) for name, stage in grow.items()}}


def _stage_json(stage: StageCurves, samples: dict[int, int]) -> Json:
    kept = _records_to_send(stage)
    tokens = stage.metrics.get(metric.FORWARDED_TOKENS) or stage.metrics.get(metric.ACTION_TOKENS) or []
    hours = [None if wall is None else wall / 3600 for wall in stage.metrics.get(metric.WALL_S, [])]
    played = [samples.get(step) for step in stage.steps] if samples else []
    columns: dict[str, Sequence[Json]] = {
        "step": stage.steps,
        "samples": _running_sums(played),
        "tokens": _running_sums(tokens),
        "hours": hours,
    }
    return {
        **{name: [column[place] for place in kept] if column else [] for name, column in columns.items()},
        "metrics": {name: [stage.metrics[name][place] for place in kept] for name in sorted(stage.metrics, key=_rank)},
        "panels": _panels(stage),
    }


def _panels(stage: StageCurves) -> list[Json]:
    """The report's charts of a stage, by their metrics; those of calls only where a tool was called."""
    has_calls = any(value for name in (metric.CALLS, metric.TOOL_RATE) for value in stage.metrics.get(name, ()))
    found: list[Json] = []
    for panel in PANELS:
        lines = lines_of(panel, stage.metrics)
        if panel.hides_zeros or panel.hides_all_zeros:
            moving = [(name, label) for name, label in lines if any(stage.metrics[name])]
            lines = moving if panel.hides_all_zeros else moving or lines
        if lines and (has_calls or not panel.is_of_calls):
            found.append({"title": panel.title, "subtitle": panel.subtitle, "lines": dict(lines)})
    return found


def _rank(name: str) -> tuple[int, str]:
    return next((at for at, one in enumerate(_TELLING) if one.search(name)), len(_TELLING)), name


def _running_sums(values: Sequence[float | None]) -> list[Json]:
    total, sums = 0.0, list[Json]()
    for value in values:
        total += value or 0.0
        sums.append(total)
    return sums


def _records_to_send(stage: StageCurves) -> list[int]:
    """Records that are sent: all of few, else of each bin the first and the extremes of the main metric."""
    count = len(stage.steps)
    if count <= MAX_POINTS:
        return list(range(count))
    main = next((stage.metrics[name] for name in (metric.REWARD_MEAN, metric.NLL) if name in stage.metrics), [])
    values = np.array([np.nan if value is None else value for value in main] or [np.nan] * count)
    kept = {0, count - 1}
    for rows in np.array_split(np.arange(count), MAX_POINTS // 4):
        known = rows[np.isfinite(values[rows])]
        kept |= {int(rows[0])}
        if len(known):
            kept |= {int(known[np.argmin(values[known])]), int(known[np.argmax(values[known])])}
    return sorted(kept)
