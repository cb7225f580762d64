"""Which metrics of a run are drawn, and together with which."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from saccade import metric_names as metric
from saccade.viewer.charts import Line, line_chart
from saccade.viewer.evidence import Series
from saccade.viewer.words import number_text, percent_text, readable

_SPEED = "tokens per second"


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveChart:
    """A titled chart; ``svg`` is safe markup, ``legend`` labels its lines in order."""

    title: str
    subtitle: str
    svg: str
    legend: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Panel:
    title: str
    subtitle: str
    lines: Mapping[str, str]
    """Metric to label."""
    format: Callable[[float], str] = number_text
    is_share: bool = False
    is_of_calls: bool = False
    """Left out where no tool was called."""
    hides_all_zeros: bool = False
    """Whether the chart is left out where none of its lines ever leaves 0."""
    hides_zeros: bool = False
    """Whether lines that never leave 0 are left out, where there are others: too many lines would share a colour."""


def _both(name: str) -> Mapping[str, str]:
    """A metric of the training's own trajectories and of the evaluation in the middle of it."""
    return {name: "training, sampled", metric.HELD_OUT_PREFIX + name: "held out"}


_PANELS = (
    _Panel(title="Imitation loss", subtitle="mean −log p of the expert's tokens", lines={metric.NLL: "loss"}),
    _Panel(
        title="Accuracy",
        subtitle="share of right answers",
        lines=_both(metric.REWARD_ACCURACY),
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Grounding",
        subtitle="score of points by the verifier, where it measured",
        lines=_both(metric.NOTED_PREFIX + "grounding"),
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Tool use",
        is_of_calls=True,
        subtitle="share of trajectories that call a tool",
        lines=_both(metric.TOOL_RATE),
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Calls",
        is_of_calls=True,
        subtitle="tool calls per trajectory",
        lines=_both(metric.CALLS),
    ),
    _Panel(
        title="Calls that ran",
        is_of_calls=True,
        subtitle="share of tool calls without an error",
        lines=_both(metric.CALLS_RAN),
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Calls where questions are hard",
        is_of_calls=True,
        hides_zeros=True,
        subtitle="tool calls per trajectory, by the share of a group that is right",
        lines={
            metric.CALLS_AT_ACCURACY_PREFIX + "0": "below 25 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "25": "25 to 50 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "50": "50 to 75 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "75": "75 % and more",
        },
    ),
    _Panel(
        title="Answered without a call",
        is_of_calls=True,
        subtitle="share of trajectories",
        lines=_both(metric.ANSWERED_WITHOUT_CALL),
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Reward",
        subtitle="mean over trajectories",
        lines=_both(metric.REWARD_MEAN),
    ),
    _Panel(
        title="Where it looked",
        subtitle="overlap (IoU) of the best crop with what matters",
        lines=_both(metric.LOOK_IOU),
    ),
    _Panel(
        title="Parts of the reward",
        subtitle="mean over the trajectories that were paid by them",
        lines={metric.REWARD_PREFIX + "grounding": "grounding", metric.REWARD_PREFIX + "reasoning": "reasoning"},
    ),
    _Panel(
        title="Points",
        subtitle="points that a trajectory's reasoning names",
        lines=_both(metric.NOTED_PREFIX + "points"),
    ),
    _Panel(
        title="Without points, and in agreement",
        subtitle="share of trajectories: none where some are wanted; thought and answer say the same",
        lines={
            metric.NOTED_PREFIX + "no_points": "without points",
            metric.NOTED_PREFIX + "agreement": "thought and answer agree",
        },
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Scorers chosen",
        subtitle="share of trajectories that are checked by each",
        lines={f"{metric.NOTED_PREFIX}scorer/{name}": name for name in ("detector", "pointer", "video", "teacher")},
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="No verdict",
        subtitle="what a machine failed: of each trajectory that it was asked about",
        lines={
            metric.NOTED_PREFIX + "no_verdict": "points or judgements",
            metric.NOTED_PREFIX + "no_teacher": "answers by the teacher",
        },
    ),
    _Panel(
        title="Regions known already",
        subtitle="share of pairs of picture and name that no model was asked for again",
        lines={metric.TIME_PREFIX + "regions_known": "known"},
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Time of the scorers",
        subtitle="seconds of a step, some of them at once",
        lines={f"{metric.TIME_PREFIX}{name}_s": name for name in ("regions", "teacher", "video")},
    ),
    _Panel(
        title="Distance from the first policy",
        subtitle="KL in nats per token to the policy that the stage began with",
        lines={metric.REFERENCE_KL: "to the stage's first policy"},
    ),
    _Panel(
        title="Mismatch",
        subtitle="KL in nats per token of engine to learner at the same weights: near 0, however stale batches are",
        lines={metric.MISMATCH_KL: "engine to learner"},
    ),
    _Panel(
        title="Staleness",
        subtitle="KL in nats per token of the older policy that sampled a batch to the learner that learns from it",
        lines={metric.SAMPLER_KL: "sampler to learner"},
    ),
    _Panel(
        title="Age of the weights",
        subtitle="optimiser steps since the weights that sampled a batch",
        lines={metric.STALENESS: "steps"},
        hides_all_zeros=True,
    ),
    _Panel(
        title="Weights of tokens that another policy sampled",
        subtitle="share of tokens that still count (effective sample size), and of those that were cut or left out",
        lines={metric.EFFECTIVE_SAMPLES: "effective", metric.IMPORTANCE_CUT: "cut or left out"},
        format=percent_text,
        is_share=True,
    ),
    _Panel(
        title="Waiting for the rollout",
        subtitle="seconds of a step in which it had learned and the rollout beside it was not over",
        lines={metric.WAIT_S: "waited"},
    ),
    _Panel(
        title="Who waited for whom",
        subtitle="seconds of a step in which the learners had nothing to learn, and rollout workers nothing to play",
        lines={metric.LEARNERS_IDLE_S: "learners", metric.ROLLOUTS_IDLE_S: "rollout workers, mean"},
    ),
    _Panel(
        title="Clipped tokens",
        subtitle="share of tokens where the ratio was clipped",
        lines={metric.CLIP_FRACTION: "clipped"},
        format=percent_text,
    ),
    _Panel(
        title="Entropy",
        subtitle="nats per action token",
        lines={metric.SAMPLED_ENTROPY: "all that was sampled", metric.ENTROPY: "what was learned from"},
    ),
    _Panel(title="Speed", subtitle="model tokens per second of a step", lines={_SPEED: "tokens/s"}),
)


def main_charts(stage: Mapping[str, Series], *, has_calls: bool = True, is_held_out: bool = False) -> list[CurveChart]:
    """The charts that a reader looks at first, as far as a stage has their metrics; without calls none of calls.

    ``is_held_out`` says of the evaluation in the middle of the stage that its questions are known to be new.
    """
    stage = {**stage, **_speed(stage)}
    charts = []
    for panel in _PANELS:
        lines = [
            Line(label=label if is_held_out else label.replace("held out", "evaluated"), points=stage[key])
            for key, label in _lines(panel, stage)
        ]
        if panel.hides_all_zeros and not any(value for line in lines for _, value in line.points):
            continue
        if panel.hides_zeros:
            lines = [line for line in lines if any(value for _, value in line.points)] or lines
        if lines and (has_calls or not panel.is_of_calls):
            charts.append(_chart(panel.title, panel.subtitle, lines, panel.format, is_share=panel.is_share))
    return charts


def other_charts(stage: Mapping[str, Series]) -> list[CurveChart]:
    """A chart for each metric that ``main_charts`` leaves out."""
    shown = {key for panel in _PANELS for key in [*panel.lines, *dict(_lines(panel, stage))]} | {metric.WALL_S}
    return [
        _chart(readable(key), key, [Line(label=key, points=points)], number_text)
        for key, points in sorted(stage.items())
        if key not in shown
    ]


def _lines(panel: _Panel, stage: Mapping[str, Series]) -> list[tuple[str, str]]:
    """Metric and label of each line; where several streams were trained, one for each instead of their mixture."""
    lines = []
    for key, label in panel.lines.items():
        streams = [
            other
            for other in stage
            if other.endswith(f"/{key}")
            and other not in panel.lines
            and "/" not in (name := other.removesuffix(f"/{key}"))
            and f"{name}/" != metric.HELD_OUT_PREFIX
        ]
        lines += [(other, f"{label}: {other.removesuffix(f'/{key}')}") for other in streams]
        if key in stage and not streams:
            lines.append((key, label))
    return lines


def _chart(
    title: str, subtitle: str, lines: Sequence[Line], format_: Callable[[float], str], *, is_share: bool = False
) -> CurveChart:
    svg = line_chart(lines, title=title, format_value=format_, is_share=is_share)
    return CurveChart(title=title, subtitle=subtitle, svg=svg, legend=tuple(line.label for line in lines))


def _speed(stage: Mapping[str, Series]) -> dict[str, Series]:
    """Tokens per second of each step: as recorded, or from token counts and the work time between records."""
    recorded = stage.get(metric.TOKENS_PER_S)
    if recorded:
        return {_SPEED: recorded}
    tokens = dict(stage.get(metric.ACTION_TOKENS, ()))
    wall = list(stage.get(metric.WALL_S, ()))
    points = [
        (step, tokens[step] / (now_s - before_s))
        for (_, before_s), (step, now_s) in itertools.pairwise(wall)
        if step in tokens and now_s > before_s
    ]
    return {_SPEED: tuple(points)} if points else {}
