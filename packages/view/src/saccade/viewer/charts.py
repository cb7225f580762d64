"""Line charts as inline SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from saccade.viewer.evidence import Series
from saccade.viewer.words import number_text

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 34
_MAX_HOVER_POINTS = 120
_ROUNDING = 1e-9
_SMALLEST, _LARGEST = 1e-300, 1e300
_SMOOTH_FROM = 60
"""Series with more points get a running mean over a twentieth of them, with the raw values faint behind it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a chart."""

    label: str
    points: Series


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    format_value: Callable[[float], str] = number_text,
    is_share: bool = False,
    x_name: str = "step",
) -> str:
    """An SVG with axes, grid, one line per series and a hover title on each point.

    ``x_name`` says what the x axis counts; ``is_share`` fixes the y axis to 0-1. Values that are not finite leave gaps.
    The markup is safe: titles and labels are escaped.
    """
    finite = [(step, value) for line in lines for step, value in line.points if math.isfinite(value)]
    if not finite:
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><text x="{WIDTH / 2}" y="{HEIGHT / 2}" '
            'class="empty" text-anchor="middle">no finite values</text></svg>'
        )
    x_ticks = ticks(min(step for step, _ in finite), max(step for step, _ in finite), whole=True)
    low, high = (0.0, 1.0) if is_share else (min(v for _, v in finite), max(v for _, v in finite))
    y_ticks = ticks(low, high)
    scale = _Scale(x_ticks[0], x_ticks[-1], y_ticks[0], y_ticks[-1])
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += [_y_tick(scale, tick, format_value) for tick in y_ticks]
    parts += [_x_tick(scale, tick) for tick in x_ticks]
    parts.append(f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{x_name}</text>')
    for index, line in enumerate(lines):
        parts += _line(scale, index, line, format_value, x_name)
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Four to seven round numbers that cover ``low`` to ``high``; at least two.

    Values that differ by rounding alone, as those of a constant rate, are one value.
    """
    low, high = (min(max(bound, -_LARGEST), _LARGEST) for bound in (low, high))
    if high - low <= max(max(abs(low), abs(high)) * _ROUNDING, _SMALLEST):
        pad = 1.0 if whole else abs(low) * 0.1
        low, high = (low - pad, high + pad) if pad >= _SMALLEST else (0.0, 1.0)
    exact = max((high - low) / 5, _SMALLEST)
    power = 10.0 ** math.floor(math.log10(exact))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= exact * 0.999)
    step = max(1.0, step) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, last + 1)]


def smoothed(points: Series) -> Series:
    """The running mean of a long noisy series over a twentieth of its length, of finite values; its length stays."""
    half = max(1, len(points) // 40)
    means = []
    for index, (step, _) in enumerate(points):
        near = [value for _, value in points[max(0, index - half) : index + half + 1] if math.isfinite(value)]
        means.append((step, math.fsum(near) / len(near) if near else math.nan))
    return tuple(means)


@dataclass(frozen=True, slots=True)
class _Scale:
    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, step: float) -> float:
        share = (step - self.x_low) / (self.x_high - self.x_low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = min(max((value - self.y_low) / (self.y_high - self.y_low), 0.0), 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _y_tick(scale: _Scale, tick: float, format_value: Callable[[float], str]) -> str:
    y = scale.y(tick)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        f'<text class="axis" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{format_value(tick)}</text>'
    )


def _x_tick(scale: _Scale, tick: float) -> str:
    return f'<text class="axis" x="{scale.x(tick)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:.0f}</text>'


def _line(scale: _Scale, index: int, line: Line, format_value: Callable[[float], str], x_name: str) -> list[str]:
    is_smoothed = len(line.points) > _SMOOTH_FROM
    drawn = smoothed(line.points) if is_smoothed else line.points
    parts = []
    if is_smoothed:
        parts.append(f'<path class="raw series-{index % 4}" d="{_path(scale, line.points)}"/>')
    parts.append(f'<path class="curve series-{index % 4}" d="{_path(scale, drawn)}"/>')
    every = max(1, math.ceil(len(drawn) / _MAX_HOVER_POINTS))
    kind = "hover" if len(drawn) > 40 else "point"
    mean_of = f", mean of {2 * max(1, len(drawn) // 40) + 1} steps" if is_smoothed else ""
    for step, value in drawn[every - 1 :: every]:
        if math.isfinite(value):
            hover = f"{escape(line.label)}, {x_name} {step}: {format_value(value)}{mean_of}"
            parts.append(
                f'<circle class="{kind} series-{index % 4}" cx="{scale.x(step)}" cy="{scale.y(value)}" r="3">'
                f"<title>{hover}</title></circle>"
            )
    return parts


def _path(scale: _Scale, points: Series) -> str:
    commands, is_pen_down = [], False
    for step, value in points:
        if not math.isfinite(value):
            is_pen_down = False
            continue
        commands.append(f"{'L' if is_pen_down else 'M'}{scale.x(step)} {scale.y(value)}")
        is_pen_down = True
    return " ".join(commands)
