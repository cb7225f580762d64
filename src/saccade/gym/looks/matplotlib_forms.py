"""The kinds of charts that matplotlib draws: what each puts on the axes, and the artist of each element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.looks.matplotlib_axes import Which, draw_ticks, name_axis

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.container import BarContainer

DPI = 80
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart while it is drawn: what it shows, on which axes, and the artist of each element."""

    state: QuantityState
    axes: Axes
    renderer: RendererBase
    artists: dict[str, Artist]
    boxes: dict[str, tuple[float, float, float, float]]
    """Of elements that are no artist of their own, in display coordinates: left, bottom, right, top."""

    def colours(self) -> list[str]:
        return [hex_of(PALETTE[measure.colour]) for measure in self.state.measures]

    def mark(self, entry: int, which: int, artist: Artist) -> None:
        self.artists[f"value:{entry}:{which}"] = artist

    def around(self, entry: int, which: int, x: float, y: float, half_px: float = 5) -> None:
        """A value at a point in the axes' own coordinates."""
        at_x, at_y = self.axes.transData.transform((x, y))
        self.boxes[f"value:{entry}:{which}"] = (at_x - half_px, at_y - half_px, at_x + half_px, at_y + half_px)


def bubble_px(state: QuantityState, entry: int) -> float:
    """Radius of a bubble: its area is as its size."""
    if state.form != "bubble":
        return 5
    return 3.2 * math.sqrt(state.measures[2].values[entry])


def _entries(plot: Plot, *, is_upright: bool = True) -> None:
    """Names of the entries along an axis."""
    state = plot.state
    which: Which = "x" if is_upright else "y"
    turn = 35 if is_upright and sum(len(name) for name in state.entries) >= 0.09 * state.width else 0
    labels = draw_ticks(plot.axes, which, range(len(state.entries)), state.entries, turn=turn)
    for entry, label in enumerate(labels):
        plot.artists[f"entry:{entry}"] = label
    if not is_upright:
        plot.axes.invert_yaxis()


def _scale(plot: Plot, top: float, *, is_upright: bool = True) -> None:
    """A scale from zero with a tick and a line at each ten."""
    every = 10 if top <= 110 else 20 if top <= 220 else 50
    last = every * math.ceil((top + 1) / every)
    marks = range(0, last + 1, every)
    which: Which = "y" if is_upright else "x"
    (plot.axes.set_ylim if is_upright else plot.axes.set_xlim)(0, last)
    labels = draw_ticks(plot.axes, which, marks, [str(mark) for mark in marks], has_grid=True)
    if len(plot.state.measures) == 1:
        name = plot.state.measures[0].name
        plot.artists["measure:0"] = name_axis(plot.axes, which, name, labels, plot.renderer)


def _legend(plot: Plot, handles: Sequence[Artist | BarContainer]) -> None:
    names = [measure.name for measure in plot.state.measures]
    legend = plot.axes.legend(
        handles, names, loc="upper left", bbox_to_anchor=(0.0, -0.1), ncols=len(names), frameon=False
    )
    for which, text in enumerate(legend.get_texts()):
        plot.artists[f"measure:{which}"] = text


def _top(state: QuantityState) -> float:
    return max(max(measure.values) for measure in state.measures)


def _bars(plot: Plot) -> None:
    state, count = plot.state, len(plot.state.measures)
    width = 0.8 / count
    handles: list[Artist | BarContainer] = []
    for which, (measure, colour) in enumerate(zip(state.measures, plot.colours())):
        at = [entry + (which - (count - 1) / 2) * width for entry in range(len(state.entries))]
        bars = plot.axes.bar(at, measure.values, width * 0.92, color=colour)
        handles.append(bars)
        for entry, bar in enumerate(bars):
            plot.mark(entry, which, bar)
    _entries(plot)
    _scale(plot, _top(state))
    if count > 1:
        _legend(plot, handles)


def _lying(plot: Plot) -> None:
    measure = plot.state.measures[0]
    for entry, bar in enumerate(
        plot.axes.barh(range(len(measure.values)), measure.values, 0.7, color=plot.colours()[0])
    ):
        plot.mark(entry, 0, bar)
    _entries(plot, is_upright=False)
    _scale(plot, _top(plot.state), is_upright=False)


def _stacked(plot: Plot) -> None:
    state = plot.state
    base = np.zeros(len(state.entries))
    handles: list[Artist | BarContainer] = []
    for which, (measure, colour) in enumerate(zip(state.measures, plot.colours())):
        bars = plot.axes.bar(range(len(state.entries)), measure.values, 0.75, bottom=base, color=colour)
        handles.append(bars)
        for entry, bar in enumerate(bars):
            plot.mark(entry, which, bar)
            middle = base[entry] + measure.values[entry] / 2
            plot.axes.text(entry, middle, measure.text(entry), ha="center", va="center", color="white")
        base = base + np.asarray(measure.values)
    _entries(plot)
    _scale(plot, float(base.max()))
    _legend(plot, handles)


def _lines(plot: Plot) -> None:
    state, marks = plot.state, "osD^v"
    handles: list[Artist | BarContainer] = []
    for which, (measure, colour) in enumerate(zip(state.measures, plot.colours())):
        at = range(len(measure.values))
        if state.form == "area":
            plot.axes.fill_between(at, measure.values, color=colour, alpha=0.35)
        handles += plot.axes.plot(at, measure.values, marker=marks[which], markersize=5, linewidth=1.8, color=colour)
    _entries(plot)
    _scale(plot, _top(state))
    if len(state.measures) > 1:
        _legend(plot, handles)


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
    state, axes, colours = plot.state, plot.axes, plot.colours()
    scales = dual_scales(state)
    for entry, bar in enumerate(axes.bar(range(len(state.entries)), state.measures[0].values, 0.6, color=colours[0])):
        plot.mark(entry, 0, bar)
    end = scales[0][1]
    line = [value * end / scales[1][1] for value in state.measures[1].values]
    axes.plot(range(len(line)), line, marker="o", color=colours[1])
    _entries(plot)
    axes.set_ylim(0, end)
    for which, (step, last) in enumerate(scales):
        marks = [step * mark for mark in range(round(last / step) + 1)]
        digits = 0 if float(step).is_integer() else 1
        at, words = [mark * end / last for mark in marks], [f"{mark:.{digits}f}" for mark in marks]
        labels = draw_ticks(axes, "y", at, words, has_grid=which == 0, is_far=which == 1)
        plot.artists[f"measure:{which}"] = name_axis(
            axes, "y", state.measures[which].name, labels, plot.renderer, colour=colours[which], is_far=which == 1
        )


def _scatter(plot: Plot) -> None:
    from matplotlib.transforms import offset_copy

    state, axes = plot.state, plot.axes
    xs, ys = state.measures[0].values, state.measures[1].values
    sizes = [(1.7 * bubble_px(state, entry)) ** 2 * (72 / DPI) ** 2 for entry in range(len(xs))]
    area = sizes if state.form == "bubble" else 30
    axes.scatter(xs, ys, s=area, color=plot.colours()[0], alpha=0.75)
    for entry, name in enumerate(state.entries):
        reach = bubble_px(state, entry) if state.form == "bubble" else 4
        above = offset_copy(axes.transData, axes.get_figure(root=True), 0, reach * 0.9, units="points")
        plot.artists[f"entry:{entry}"] = axes.text(xs[entry], ys[entry], name, transform=above, ha="center")
    axes.set(xlim=(0, 110), ylim=(0, 110))
    marks = range(0, 111, 10)
    sides: tuple[Which, Which] = ("x", "y")
    for which, side in enumerate(sides):
        labels = draw_ticks(axes, side, marks, [str(mark) for mark in marks], has_grid=True)
        name = state.measures[which].name
        plot.artists[f"measure:{which}"] = name_axis(axes, side, name, labels, plot.renderer)


def _pie(plot: Plot) -> None:
    state = plot.state
    values, names = state.measures[0].values, list(PALETTE)
    colours = [hex_of(PALETTE[names[entry % len(names)]]) for entry in range(len(values))]
    hole = {"width": 0.45} if state.form == "donut" else {}
    printed = state.measures[0].reading == "printed"
    texts = [f"{name} {state.measures[0].text(i)}" if printed else name for i, name in enumerate(state.entries)]
    drawn = plot.axes.pie(values, labels=texts, colors=colours, startangle=90, counterclock=False, wedgeprops=hole)
    for entry, (wedge, text) in enumerate(zip(drawn.wedges, drawn.texts[0])):
        plot.mark(entry, 0, wedge)
        plot.artists[f"entry:{entry}"] = text


def _histogram(plot: Plot) -> None:
    measure = plot.state.measures[0]
    bars = plot.axes.bar(range(len(measure.values)), measure.values, 1.0, color=plot.colours()[0], edgecolor="white")
    for entry, bar in enumerate(bars):
        plot.mark(entry, 0, bar)
    _entries(plot)
    _scale(plot, _top(plot.state))


def _boxes(plot: Plot) -> None:
    """Boxes as bars; all whiskers with their ends are one line, all medians another."""
    state, axes, count = plot.state, plot.axes, len(plot.state.entries)
    low, lower, middle, upper, high = (np.asarray(measure.values, dtype=float) for measure in state.measures)
    at, gap = np.arange(count, dtype=float), np.full(count, np.nan)
    axes.bar(at, upper - lower, 0.5, bottom=lower, color=plot.colours()[0], edgecolor="black", linewidth=1)

    def lines(*ends: tuple[Floats, Floats], width: float, zorder: float) -> None:
        xs = np.concatenate([np.column_stack([start, end, gap]).ravel() for start, end in ends[::2]])
        ys = np.concatenate([np.column_stack([start, end, gap]).ravel() for start, end in ends[1::2]])
        axes.plot(xs, ys, color="black", linewidth=width, marker="", linestyle="-", zorder=zorder)

    ends = [((at - 0.125, at + 0.125), (level, level)) for level in (low, high)]
    whiskers = [((at, at), (low, lower)), ((at, at), (upper, high))]
    lines(*(pair for piece in (*ends, *whiskers) for pair in piece), width=1.0, zorder=2)
    lines((at - 0.25, at + 0.25), (middle, middle), width=2.5, zorder=3)
    axes.set_xlim(-0.5, count - 0.5)
    _entries(plot)
    _scale(plot, _top(state))


def _heat(plot: Plot) -> None:
    state, axes = plot.state, plot.axes
    grid = np.asarray([measure.values for measure in state.measures]).T
    axes.pcolormesh(grid, cmap="YlGnBu", edgecolors="white", vmin=0, vmax=float(grid.max()) * 1.1)
    axes.invert_yaxis()
    for entry, row in enumerate(grid):
        for which, value in enumerate(row):
            ink = "white" if value > 0.6 * grid.max() else "black"
            text = axes.text(
                which + 0.5, entry + 0.5, state.measures[which].text(entry), ha="center", va="center", color=ink
            )
            plot.mark(entry, which, text)
    rows = draw_ticks(axes, "y", [entry + 0.5 for entry in range(len(state.entries))], state.entries)
    names = [measure.name for measure in state.measures]
    columns = draw_ticks(axes, "x", [which + 0.5 for which in range(len(names))], names)
    plot.artists.update({f"entry:{entry}": label for entry, label in enumerate(rows)})
    plot.artists.update({f"measure:{which}": label for which, label in enumerate(columns)})


def _radar(plot: Plot) -> None:
    state, axes = plot.state, plot.axes
    turns = [2 * math.pi * entry / len(state.entries) for entry in range(len(state.entries))]
    handles: list[Artist | BarContainer] = []
    for measure, colour in zip(state.measures, plot.colours()):
        ring = [*measure.values, measure.values[0]]
        handles += axes.plot([*turns, turns[0]], ring, marker="o", markersize=4, color=colour)
        axes.fill([*turns, turns[0]], ring, color=colour, alpha=0.12)
    axes.set_ylim(0, 100)
    axes.set_yticks(range(10, 101, 10))
    labels = axes.set_xticks(turns, state.entries)
    for entry, tick in enumerate(labels):
        plot.artists[f"entry:{entry}"] = tick.label1
    if len(state.measures) > 1:
        _legend(plot, handles)


FORMS: dict[str, Callable[[Plot], None]] = {
    "bar": _bars,
    "grouped": _bars,
    "lying": _lying,
    "stacked": _stacked,
    "line": _lines,
    "lines": _lines,
    "area": _lines,
    "dual": _dual,
    "scatter": _scatter,
    "bubble": _scatter,
    "pie": _pie,
    "donut": _pie,
    "histogram": _histogram,
    "box": _boxes,
    "heat": _heat,
    "radar": _radar,
}
