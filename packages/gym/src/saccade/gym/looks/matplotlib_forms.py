"""The kinds of charts with two scales that matplotlib draws: what each puts on the axes. Imports matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.looks.matplotlib_axes import Which, draw_legend, draw_ticks, name_axis
from saccade.gym.looks.matplotlib_fields import heat, scatter
from saccade.gym.looks.matplotlib_letters import PxBox
from saccade.gym.looks.matplotlib_plot import BARS, WORDS, Floats, Plot
from saccade.gym.looks.matplotlib_round import pie, radar

MARKS = "osD^v"
_MARGIN = 0.05


def _limit(plot: Plot, low: float, high: float, top: float, *, is_upright: bool = True) -> None:
    """Scales from ``low`` to ``high`` with a margin for the entries, and from zero to the top for the values."""
    margin = _MARGIN * (high - low) or 0.5  # of one entry alone
    low, high = low - margin, high + margin
    plot.limits = (low, 0.0, high, top) if is_upright else (0.0, high, top, low)


def _entries(plot: Plot, *, is_upright: bool = True) -> None:
    """Names of the entries along an axis."""
    state = plot.state
    turn = 35 if is_upright and sum(len(name) for name in state.entries) >= 0.09 * state.width else 0
    labels = draw_ticks(plot, "x" if is_upright else "y", range(len(state.entries)), state.entries, turn=turn)
    plot.boxes.update({f"entry:{entry}": box for entry, box in enumerate(labels)})


def _every(top: float) -> int:
    return 10 if top <= 110 else 20 if top <= 220 else 50


def _end(top: float) -> int:
    """Where a scale from zero ends."""
    return _every(top) * math.ceil((top + 1) / _every(top))


def _scale(plot: Plot, top: float, *, is_upright: bool = True) -> None:
    """A tick and a line at each ten of a scale from zero."""
    marks = range(0, _end(top) + 1, _every(top))
    which: Which = "y" if is_upright else "x"
    labels = draw_ticks(plot, which, marks, [str(mark) for mark in marks], has_grid=True)
    if len(plot.state.measures) == 1:
        plot.boxes["measure:0"] = name_axis(plot, which, plot.state.measures[0].name, labels)


def _top(state: QuantityState) -> float:
    return max(max(measure.values) for measure in state.measures)


def _values(plot: Plot, which: int, boxes: list[PxBox]) -> None:
    plot.boxes.update({f"value:{entry}:{which}": box for entry, box in enumerate(boxes)})


def _corners(low_x: Floats, low_y: Floats | float, high_x: Floats, high_y: Floats) -> tuple[Floats, Floats]:
    """Lower left and upper right corners of bars, each (n, 2)."""
    return np.column_stack(np.broadcast_arrays(low_x, low_y)), np.column_stack([high_x, high_y])


def _swatches(plot: Plot) -> Callable[[int, PxBox], None]:
    """Handles of a legend that are boxes of the measures' colours."""
    colours = plot.colours()

    def draw(which: int, box: PxBox) -> None:
        left, low, right, high = box
        corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
        plot.add(PathPatch(Path(corners, closed=True), facecolor=colours[which], linewidth=0), WORDS)

    return draw


def _bars(plot: Plot) -> None:
    state, count = plot.state, len(plot.state.measures)
    width, at = 0.8 / count, np.arange(len(plot.state.entries), dtype=float)
    half, reach = width * 0.46, (count - 1) / 2 * width
    _limit(plot, -reach - half, len(at) - 1 + reach + half, _end(_top(state)))
    for which, (measure, colour) in enumerate(zip(state.measures, plot.colours())):
        middle = at + (which - (count - 1) / 2) * width
        ends = _corners(middle - half, 0.0, middle + half, np.asarray(measure.values, dtype=float))
        _values(plot, which, plot.bars(*ends, colour))
    _entries(plot)
    _scale(plot, _top(state))
    if count > 1:
        draw_legend(plot, _swatches(plot))


def _lying(plot: Plot) -> None:
    values = np.asarray(plot.state.measures[0].values, dtype=float)
    at = np.arange(len(values), dtype=float)
    _limit(plot, -0.35, len(at) - 0.65, _end(_top(plot.state)), is_upright=False)
    starts, ends = _corners(np.zeros(len(at)), at - 0.35, values, at + 0.35)
    _values(plot, 0, plot.bars(starts, ends, plot.colours()[0]))
    _entries(plot, is_upright=False)
    _scale(plot, _top(plot.state), is_upright=False)


def _stacked(plot: Plot) -> None:
    state = plot.state
    at, base = np.arange(len(state.entries), dtype=float), np.zeros(len(state.entries))
    total = np.sum([measure.values for measure in state.measures], axis=0)
    _limit(plot, -0.375, len(at) - 0.625, _end(float(total.max())))
    for which, (measure, colour) in enumerate(zip(state.measures, plot.colours())):
        top = base + np.asarray(measure.values)
        boxes = plot.bars(*_corners(at - 0.375, base, at + 0.375, top), colour)
        _values(plot, which, boxes)
        for entry, (left, low, right, high) in enumerate(boxes):
            middle = ((left + right) / 2, (low + high) / 2)
            plot.words.write(middle, measure.text(entry), size_px=plot.size_px, colour="white", up="center")
        base = top
    _entries(plot)
    _scale(plot, float(total.max()))
    draw_legend(plot, _swatches(plot))


def _lines(plot: Plot) -> None:
    state, colours = plot.state, plot.colours()
    _limit(plot, 0, len(state.entries) - 1, _end(_top(state)))
    at = np.arange(len(state.entries), dtype=float)
    for which, (measure, colour) in enumerate(zip(state.measures, colours)):
        spots = plot.spots(at, measure.values)
        if state.form == "area":
            ground = plot.spots(at[[-1, 0]], 0.0)
            filled = Path(np.concatenate([spots, ground, spots[:1]]), closed=True)
            plot.add(PathPatch(filled, facecolor=colour, alpha=0.35, linewidth=0), BARS, is_clipped=True)
        plot.line(spots, marker=MARKS[which], markersize=5, linewidth=1.8, color=colour)
        plot.around(which, spots)
    _entries(plot)
    _scale(plot, _top(state))

    def handle(which: int, box: PxBox) -> None:
        left, low, right, high = box
        ends = np.array([(left, (low + high) / 2), (right, (low + high) / 2)])
        plot.line(ends, WORDS, is_clipped=False, linewidth=1.8, color=colours[which])
        dot = ends.mean(axis=0, keepdims=True)
        plot.line(dot, WORDS, is_clipped=False, marker=MARKS[which], markersize=5, color=colours[which])

    if len(state.measures) > 1:
        draw_legend(plot, handle)


def dual_scales(state: QuantityState) -> tuple[tuple[float, float], tuple[float, float]]:
    """The step of the ticks and the end of the scale, of the left and of the right axis."""
    steps = [measure.step * 2 for measure in state.measures[:2]]
    ends = [
        step * math.ceil((max(measure.values) + 0.1) / step)
        for step, measure in zip(steps, state.measures, strict=False)
    ]
    return (steps[0], ends[0]), (steps[1], ends[1])


def _dual(plot: Plot) -> None:
    """The second measure is drawn on the first one's scale, as long as its own scale is."""
    state, colours = plot.state, plot.colours()
    scales = dual_scales(state)
    end = scales[0][1]
    at = np.arange(len(state.entries), dtype=float)
    _limit(plot, -0.3, len(at) - 0.7, end)
    values = np.asarray(state.measures[0].values, dtype=float)
    _values(plot, 0, plot.bars(*_corners(at - 0.3, 0.0, at + 0.3, values), colours[0]))
    spots = plot.spots(at, np.asarray(state.measures[1].values) * end / scales[1][1])
    plot.line(spots, marker="o", color=colours[1])
    plot.around(1, spots)
    _entries(plot)
    for which, (step, last) in enumerate(scales):
        marks = [step * mark for mark in range(round(last / step) + 1)]
        digits = 0 if float(step).is_integer() else 1
        places, words = [mark * end / last for mark in marks], [f"{mark:.{digits}f}" for mark in marks]
        labels = draw_ticks(plot, "y", places, words, has_grid=which == 0, is_far=which == 1)
        name, is_far = state.measures[which].name, which == 1
        plot.boxes[f"measure:{which}"] = name_axis(plot, "y", name, labels, colour=colours[which], is_far=is_far)


def _histogram(plot: Plot) -> None:
    values = np.asarray(plot.state.measures[0].values, dtype=float)
    at = np.arange(len(values), dtype=float)
    _limit(plot, -0.5, len(at) - 0.5, _end(_top(plot.state)))
    boxes = plot.bars(*_corners(at - 0.5, 0.0, at + 0.5, values), plot.colours()[0], edge="white")
    _values(plot, 0, boxes)
    _entries(plot)
    _scale(plot, _top(plot.state))


def _boxes(plot: Plot) -> None:
    """Boxes as bars; all whiskers with their ends are one line, all medians another, in the ink of words."""
    state, count = plot.state, len(plot.state.entries)
    plot.limits = (-0.5, 0.0, count - 0.5, _end(_top(state)))
    levels = [np.asarray(measure.values, dtype=float) for measure in state.measures]
    low, lower, middle, upper, high = levels
    at, ink = np.arange(count, dtype=float), plot.word("text.color")
    plot.bars(*_corners(at - 0.25, lower, at + 0.25, upper), plot.colours()[0], edge=ink, edge_pt=1)

    def lines(*ends: tuple[Floats, Floats, Floats, Floats], width: float, order: float) -> None:
        gap = np.full((count, 2), np.nan)
        pieces = [np.hstack([plot.spots(x0, y0), plot.spots(x1, y1), gap]).reshape(-1, 2) for x0, y0, x1, y1 in ends]
        plot.line(np.concatenate(pieces), order, color=ink, linewidth=width, marker="", linestyle="-")

    caps = [(at - 0.125, level, at + 0.125, level) for level in (low, high)]
    lines(*caps, (at, low, at, lower), (at, upper, at, high), width=1.0, order=2)
    lines((at - 0.25, middle, at + 0.25, middle), width=2.5, order=2.4)
    for which, level in enumerate(levels):
        plot.around(which, plot.spots(at, level))
    _entries(plot)
    _scale(plot, _top(state))


FORMS: dict[str, Callable[[Plot], None]] = {
    "bar": _bars,
    "grouped": _bars,
    "lying": _lying,
    "stacked": _stacked,
    "line": _lines,
    "lines": _lines,
    "area": _lines,
    "dual": _dual,
    "scatter": scatter,
    "bubble": scatter,
    "pie": pie,
    "donut": pie,
    "histogram": _histogram,
    "box": _boxes,
    "heat": heat,
    "radar": radar,
}
