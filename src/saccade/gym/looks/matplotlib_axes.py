"""Ticks, grids and names of axes in matplotlib's styles, each kind as one artist.

matplotlib makes five artists for each tick, whose making and drawing is two thirds of a chart's time. Here the marks of
an axis are one line, its grid is one more, and only what is written are texts of their own, where matplotlib has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

Which = Literal["x", "y"]
_GRID_ZORDER = 0.5
FALL_PX = 2
"""Room for what hangs below labels, which are measured by their ink."""

_REACH = {"out": 1.0, "inout": 0.5, "in": 0.0}


def draw_ticks(
    axes: Axes,
    which: Which,
    places: Sequence[float],
    words: Sequence[str],
    *,
    has_grid: bool = False,
    turn: int = 0,
    is_far: bool = False,
) -> list[Artist]:
    """Marks at places of an axis with words beside them; ``is_far`` puts them at the right."""
    import matplotlib
    from matplotlib.lines import Line2D

    from saccade.gym.looks.matplotlib_letters import add_words

    said = matplotlib.rcParams
    (axes.xaxis if which == "x" else axes.yaxis).set_visible(False)
    tick = f"{which}tick"
    direction, size = said[f"{tick}.direction"], said[f"{tick}.major.size"]
    line = axes.get_xaxis_transform if which == "x" else axes.get_yaxis_transform
    if has_grid:
        along = np.column_stack([places, places, np.full(len(places), np.nan)]).ravel()
        across = np.tile([0.0, 1.0, np.nan], len(places))
        xs, ys = (along, across) if which == "x" else (across, along)
        look = {"color": said["grid.color"], "linestyle": said["grid.linestyle"], "linewidth": said["grid.linewidth"]}
        axes.add_artist(Line2D(xs, ys, transform=line("grid"), zorder=_GRID_ZORDER, alpha=0.5, **look))
    if size and (is_far or said[f"{tick}.{'bottom' if which == 'x' else 'left'}"]):
        edge = np.full(len(places), 1.0 if is_far else 0.0)
        xs, ys = (np.asarray(places), edge) if which == "x" else (edge, np.asarray(places))
        mark = {"x": (3, 2), "y": (0, 1)}[which][(direction == "in") != is_far]  # matplotlib's TICKDOWN, TICKUP, ...
        axes.add_artist(
            Line2D(
                xs,
                ys,
                transform=line("tick2" if is_far else "tick1"),
                linestyle="none",
                marker="|" if direction == "inout" and which == "x" else "_" if direction == "inout" else mark,
                markersize=size,
                markeredgewidth=said[f"{tick}.major.width"],
                color=said[f"{tick}.color"],
                zorder=_GRID_ZORDER,
                clip_on=False,
            )
        )
    pad = said[f"{tick}.major.pad"] + size * _REACH[direction]
    vertical: str
    horizontal: str
    if which == "x":
        transform, vertical, horizontal = axes.get_xaxis_text1_transform(pad)
    elif is_far:
        transform, vertical, horizontal = axes.get_yaxis_text2_transform(pad)
    else:
        transform, vertical, horizontal = axes.get_yaxis_text1_transform(pad)
    ink, spots = said[f"{tick}.labelcolor"], [(place, 0.0) if which == "x" else (0.0, place) for place in places]
    if is_far:
        spots = [(1.0, place) for place in places]
    return [
        add_words(
            axes,
            *spot,
            word,
            transform=transform,
            size_pt=size_of(f"{tick}.labelsize"),
            colour=said[f"{tick}.color"] if ink == "inherit" else ink,
            across="right" if turn else horizontal,
            up=vertical,
            turn=turn,
            zorder=_GRID_ZORDER,
        )
        for spot, word in zip(spots, words)
    ]


def size_of(setting: str) -> float:
    """The points of a size of letters in matplotlib's settings, which may be a word ("large")."""
    import matplotlib
    from matplotlib.font_manager import font_scalings

    said = matplotlib.rcParams[setting]
    return font_scalings[said] * matplotlib.rcParams["font.size"] if isinstance(said, str) else float(said)


def name_axis(
    axes: Axes,
    which: Which,
    name: str,
    labels: Sequence[Artist],
    renderer: RendererBase,
    *,
    colour: str = "",
    is_far: bool = False,
) -> Artist:
    """The name of an axis, as far from it as its labels reach."""
    import matplotlib
    from matplotlib.transforms import IdentityTransform, blended_transform_factory

    from saccade.gym.looks.matplotlib_letters import add_words

    said = matplotlib.rcParams
    boxes = [label.get_window_extent(renderer) for label in labels]
    pad = said["axes.labelpad"] * axes.figure.dpi / 72
    is_bold = said["axes.labelweight"] in ("bold", "heavy", 700)
    ink, size_pt = colour or said["axes.labelcolor"], size_of("axes.labelsize")
    if which == "x":
        low = min([axes.bbox.y0, *(box.y0 - FALL_PX for box in boxes)]) - pad
        middle = blended_transform_factory(axes.transAxes, IdentityTransform())
        return add_words(axes, 0.5, low, name, transform=middle, size_pt=size_pt, colour=ink, up="top", is_bold=is_bold)
    middle = blended_transform_factory(IdentityTransform(), axes.transAxes)
    edge = max([axes.bbox.x1, *(box.x1 for box in boxes)]) + pad if is_far else 0.0
    if not is_far:
        edge = min([axes.bbox.x0, *(box.x0 for box in boxes)]) - pad
    return add_words(
        axes,
        edge,
        0.5,
        name,
        transform=middle,
        size_pt=size_pt,
        colour=ink,
        up="top" if is_far else "bottom",
        turn=90,
        turns_last=True,
        is_bold=is_bold,
    )
