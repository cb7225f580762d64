"""Ticks, grids, names of axes, titles and legends in matplotlib's styles, each kind as one artist. Imports matplotlib.

matplotlib makes five artists for each tick, whose making and drawing is two thirds of a chart's time. Here the marks of
an axis are one line, its grid is one more, and all that is written stands where matplotlib has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from saccade.gym.looks.matplotlib_letters import PxBox
from saccade.gym.looks.matplotlib_plot import PX, Plot

Which = Literal["x", "y"]
GRID = 0.5
"""Order of grids and ticks: below all else."""
FALL_PX = 2
"""Room for what hangs below labels, which are measured by their ink."""

_REACH = {"out": 1.0, "inout": 0.5, "in": 0.0}
_HANDLE_LENGTH, _HANDLE_PAD, _COLUMN_GAP, _LEGEND_PAD, _HANDLE_HEIGHT = 2.0, 0.8, 2.0, 0.9, 0.7
"""Of legends, in sizes of letters: matplotlib's own."""


def draw_ticks(
    plot: Plot,
    which: Which,
    places: Sequence[float],
    words: Sequence[str],
    *,
    has_grid: bool = False,
    turn: int = 0,
    is_far: bool = False,
) -> list[PxBox]:
    """Marks at places of an axis with words beside them, and where these are; ``is_far`` puts them at the right."""
    tick = f"{which}tick"
    direction, size = plot.word(f"{tick}.direction"), plot.number(f"{tick}.major.size")
    left, low, right, high = plot.window
    along = plot.spots(places, 0.0)[:, 0] if which == "x" else plot.spots(0.0, places)[:, 1]
    gap = np.full(len(places), np.nan)
    if has_grid:
        ends = (low, high) if which == "x" else (left, right)
        across = np.tile([*ends, np.nan], len(places))
        lengthwise = np.column_stack([along, along, gap]).ravel()
        grid = np.column_stack([lengthwise, across] if which == "x" else [across, lengthwise])
        plot.line(
            grid,
            GRID,
            color=plot.word("grid.color"),
            linestyle=plot.word("grid.linestyle"),
            linewidth=plot.number("grid.linewidth"),
            alpha=0.5,
        )
    edge = right if is_far else left if which == "y" else low
    if size and (is_far or plot.styled.settings[f"{tick}.{'bottom' if which == 'x' else 'left'}"]):
        side = np.full(len(places), edge)
        mark = {"x": (3, 2), "y": (0, 1)}[which][(direction == "in") != is_far]  # matplotlib's TICKDOWN, TICKUP, ...
        plot.line(
            np.column_stack([along, side] if which == "x" else [side, along]),
            GRID,
            is_clipped=False,
            linestyle="none",
            marker="|" if direction == "inout" and which == "x" else "_" if direction == "inout" else mark,
            markersize=size,
            markeredgewidth=plot.number(f"{tick}.major.width"),
            color=plot.word(f"{tick}.color"),
        )
    away = (plot.number(f"{tick}.major.pad") + size * _REACH[direction]) * PX
    ink = plot.word(f"{tick}.labelcolor")
    colour = plot.word(f"{tick}.color") if ink == "inherit" else ink
    spots = [
        (at, edge - away) if which == "x" else (edge + (away if is_far else -away), at) for at in map(float, along)
    ]
    beside = "left" if is_far else "right"
    return [
        plot.words.write(
            spot,
            word,
            size_px=plot.size_px,
            colour=colour,
            across=beside if which == "y" or turn else "center",
            up="top" if which == "x" else "center_baseline",
            turn=turn,
        )
        for spot, word in zip(spots, words)
    ]


def name_axis(
    plot: Plot, which: Which, name: str, labels: Sequence[PxBox], *, colour: str = "", is_far: bool = False
) -> PxBox:
    """The name of an axis, as far from it as its labels reach."""
    pad = plot.number("axes.labelpad") * PX
    left, low, right, high = plot.window
    across, up = (left + right) / 2, (low + high) / 2
    is_bold = plot.word("axes.labelweight") in ("bold", "heavy", "700")
    size, ink = plot.size_px, colour or plot.word("axes.labelcolor")
    if which == "x":
        below = min([low, *(box[1] - FALL_PX for box in labels)]) - pad
        return plot.words.write((across, below), name, size_px=size, colour=ink, up="top", is_bold=is_bold)
    if is_far:
        edge, side = max([right, *(box[2] for box in labels)]) + pad, "top"
    else:
        edge, side = min([left, *(box[0] for box in labels)]) - pad, "bottom"
    return plot.words.write(
        (edge, up), name, size_px=size, colour=ink, up=side, turn=90, turns_last=True, is_bold=is_bold
    )


def write_title(plot: Plot, title: str, *, above: float = 0.0) -> PxBox:
    """The title above the axes and this height, two points larger than other letters."""
    left, _, right, high = plot.window
    high = max(high, above)
    ink = plot.word("axes.titlecolor")
    return plot.words.write(
        ((left + right) / 2, high + plot.number("axes.titlepad") * PX),
        title,
        size_px=plot.size_px + 2 * PX,
        colour=plot.word("text.color") if ink == "auto" else ink,
        is_bold=plot.word("axes.titleweight") in ("bold", "heavy", "700"),
    )


def draw_legend(plot: Plot, draw_handle: Callable[[int, PxBox], None]) -> None:
    """The names of the measures in a row below the axes, each behind the handle that is drawn in a box."""
    size = plot.size_px
    left, low, _, high = plot.window
    x = left + _LEGEND_PAD * size
    base = low - 0.1 * (high - low) - (_LEGEND_PAD + _HANDLE_HEIGHT) * size
    for which, measure in enumerate(plot.state.measures):
        draw_handle(which, (x, base, x + _HANDLE_LENGTH * size, base + _HANDLE_HEIGHT * size))
        x += (_HANDLE_LENGTH + _HANDLE_PAD) * size
        box = plot.words.write((x, base), measure.name, size_px=size, colour=plot.word("text.color"), across="left")
        plot.boxes[f"measure:{which}"] = box
        x = box[2] + _COLUMN_GAP * size
