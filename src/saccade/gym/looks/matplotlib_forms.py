"""The kinds of charts that matplotlib draws: what each puts on the axes, and the artist of each element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.grammars.words import PALETTE, hex_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

DPI = 80


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart while it is drawn: what it shows, on which axes, and the artist of each element."""

    state: QuantityState
    axes: Axes
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


def _ticks(plot: Plot, *, is_upright: bool = True) -> None:
    """Names of the entries along an axis, and a grid across it."""
    state, axes = plot.state, plot.axes
    at = range(len(state.entries))
    axes.set_axisbelow(True)
    if is_upright:
        turn = 0 if sum(len(name) for name in state.entries) < 0.09 * state.width else 35
        labels = axes.set_xticks(at, state.entries, rotation=turn, ha="right" if turn else "center")
        axes.yaxis.grid(True, alpha=0.5)
        axes.xaxis.grid(False)
    else:
        labels = axes.set_yticks(at, state.entries)
        axes.invert_yaxis()
        axes.xaxis.grid(True, alpha=0.5)
        axes.yaxis.grid(False)
    for entry, tick in enumerate(labels):
        plot.artists[f"entry:{entry}"] = tick.label1
    if len(state.measures) == 1:
        label = axes.set_ylabel(state.measures[0].name) if is_upright else axes.set_xlabel(state.measures[0].name)
        plot.artists["measure:0"] = label


def _scale(plot: Plot, top: float, *, is_upright: bool = True) -> None:
    """A scale from zero with a tick at each ten."""
    every = 10 if top <= 110 else 20 if top <= 220 else 50
    last = every * math.ceil((top + 1) / every)
    marks = range(0, last + 1, every)
    if is_upright:
        plot.axes.set_ylim(0, last)
        plot.axes.set_yticks(marks)
    else:
        plot.axes.set_xlim(0, last)
        plot.axes.set_xticks(marks)


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
    _ticks(plot)
    _scale(plot, _top(state))
    if count > 1:
        _legend(plot, handles)


def _lying(plot: Plot) -> None:
    measure = plot.state.measures[0]
    for entry, bar in enumerate(
        plot.axes.barh(range(len(measure.values)), measure.values, 0.7, color=plot.colours()[0])
    ):
        plot.mark(entry, 0, bar)
    _ticks(plot, is_upright=False)
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
    _ticks(plot)
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
    _ticks(plot)
    _scale(plot, _top(state))
    if len(state.measures) > 1:
        _legend(plot, handles)


def _dual(plot: Plot) -> None:
    state, colours = plot.state, plot.colours()
    axes, other = plot.axes, plot.axes.twinx()
    for entry, bar in enumerate(axes.bar(range(len(state.entries)), state.measures[0].values, 0.6, color=colours[0])):
        plot.mark(entry, 0, bar)
    other.plot(range(len(state.entries)), state.measures[1].values, marker="o", color=colours[1])
    _ticks(plot)
    for at, which in ((axes, 0), (other, 1)):
        plot.artists[f"measure:{which}"] = at.set_ylabel(state.measures[which].name, color=colours[which])
        high = max(state.measures[which].values)
        every = state.measures[which].step * 2
        at.set_ylim(0, every * math.ceil((high + 0.1) / every))
        at.set_yticks(np.arange(0, high + every, every))
    other.grid(False)


def _scatter(plot: Plot) -> None:
    state, axes = plot.state, plot.axes
    xs, ys = state.measures[0].values, state.measures[1].values
    sizes = [(1.7 * bubble_px(state, entry)) ** 2 * (72 / DPI) ** 2 for entry in range(len(xs))]
    area = sizes if state.form == "bubble" else 30
    axes.scatter(xs, ys, s=area, color=plot.colours()[0], alpha=0.75)
    for entry, name in enumerate(state.entries):
        reach = bubble_px(state, entry) if state.form == "bubble" else 4
        near = axes.annotate(name, (xs[entry], ys[entry]), (0, reach * 0.9), textcoords="offset points", ha="center")
        plot.artists[f"entry:{entry}"] = near
    axes.set(xlim=(0, 110), ylim=(0, 110), xticks=range(0, 111, 10), yticks=range(0, 111, 10))
    plot.artists["measure:0"] = axes.set_xlabel(state.measures[0].name)
    plot.artists["measure:1"] = axes.set_ylabel(state.measures[1].name)
    axes.grid(True, alpha=0.5)
    axes.set_axisbelow(True)


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
    _ticks(plot)
    _scale(plot, _top(plot.state))


def _boxes(plot: Plot) -> None:
    state, colour = plot.state, plot.colours()[0]
    for entry in range(len(state.entries)):
        low, lower, middle, upper, high = (measure.values[entry] for measure in state.measures)
        stats = [{"whislo": low, "q1": lower, "med": middle, "q3": upper, "whishi": high}]
        parts = plot.axes.bxp(
            stats, positions=[entry], widths=0.5, showfliers=False, patch_artist=True, boxprops={"facecolor": colour}
        )
        parts["medians"][0].set(color="black", linewidth=2.5)
        for which, artist in enumerate(
            (parts["caps"][0], parts["boxes"][0], parts["medians"][0], parts["boxes"][0], parts["caps"][1])
        ):
            plot.mark(entry, which, artist)
    _ticks(plot)
    _scale(plot, _top(state))


def _heat(plot: Plot) -> None:
    state, axes = plot.state, plot.axes
    grid = np.asarray([measure.values for measure in state.measures]).T
    axes.pcolormesh(grid, cmap="YlGnBu", edgecolors="white", vmin=0, vmax=float(grid.max()) * 1.1)
    axes.invert_yaxis()
    axes.grid(False)
    for entry, row in enumerate(grid):
        for which, value in enumerate(row):
            ink = "white" if value > 0.6 * grid.max() else "black"
            text = axes.text(
                which + 0.5, entry + 0.5, state.measures[which].text(entry), ha="center", va="center", color=ink
            )
            plot.mark(entry, which, text)
    rows = axes.set_yticks([entry + 0.5 for entry in range(len(state.entries))], state.entries)
    columns = axes.set_xticks([which + 0.5 for which in range(len(state.measures))], [m.name for m in state.measures])
    for entry, tick in enumerate(rows):
        plot.artists[f"entry:{entry}"] = tick.label1
    for which, tick in enumerate(columns):
        plot.artists[f"measure:{which}"] = tick.label1


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
