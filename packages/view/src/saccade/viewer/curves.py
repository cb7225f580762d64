"""The charts of a stage in the report: those that a reader looks at first, and one for each other metric."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from saccade import metric_names as metric
from saccade.viewer.charts import Line, line_chart
from saccade.viewer.evidence import Series
from saccade.viewer.panels import PANELS, SPEED, lines_of
from saccade.viewer.words import number_text, readable


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveChart:
    """A titled chart; ``svg`` is safe markup, ``legend`` labels its lines in order."""

    title: str
    subtitle: str
    svg: str
    legend: tuple[str, ...]


def main_charts(stage: Mapping[str, Series], *, has_calls: bool = True, is_held_out: bool = False) -> list[CurveChart]:
    """The charts that a reader looks at first, as far as a stage has their metrics; without calls none of calls.

    ``is_held_out`` says of the evaluation in the middle of the stage that its questions are known to be new.
    """
    stage = {**stage, **_speed(stage)}
    charts = []
    for panel in PANELS:
        lines = [
            Line(label=label if is_held_out else label.replace("held out", "evaluated"), points=stage[key])
            for key, label in lines_of(panel, stage)
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
    shown = {key for panel in PANELS for key in [*panel.lines, *dict(lines_of(panel, stage))]} | {metric.WALL_S}
    return [
        _chart(readable(key), key, [Line(label=key, points=points)], number_text)
        for key, points in sorted(stage.items())
        if key not in shown
    ]


def _chart(
    title: str, subtitle: str, lines: Sequence[Line], format_: Callable[[float], str], *, is_share: bool = False
) -> CurveChart:
    svg = line_chart(lines, title=title, format_value=format_, is_share=is_share)
    return CurveChart(title=title, subtitle=subtitle, svg=svg, legend=tuple(line.label for line in lines))


def _speed(stage: Mapping[str, Series]) -> dict[str, Series]:
    """Tokens per second of each step: as recorded, or from token counts and the work time between records."""
    recorded = stage.get(metric.TOKENS_PER_S)
    if recorded:
        return {SPEED: recorded}
    tokens = dict(stage.get(metric.ACTION_TOKENS, ()))
    wall = list(stage.get(metric.WALL_S, ()))
    points = [
        (step, tokens[step] / (now_s - before_s))
        for (_, before_s), (step, now_s) in itertools.pairwise(wall)
        if step in tokens and now_s > before_s
    ]
    return {SPEED: tuple(points)} if points else {}
