"""Charts without upright scales that matplotlib draws: slices, rings and rays. Imports matplotlib."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.patches import Circle, PathPatch, Wedge
from matplotlib.path import Path

from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.looks.matplotlib_axes import GRID, draw_legend
from saccade.gym.looks.matplotlib_letters import PxBox
from saccade.gym.looks.matplotlib_plot import BARS, FRAME, PX, WORDS, Floats, Plot

_RING = 0.45
"""Of a donut: how wide it is, of its radius."""
_RAYS_PAD_PT = 7
"""What matplotlib adds to the pad of words at the ends of rays."""
_SCALE_TURN = math.radians(22.5)
"""Where the numbers of the rings stand."""


def _square(plot: Plot) -> PxBox:
    """The largest square in the middle of the axes."""
    left, low, right, high = plot.window
    x, y, half = (left + right) / 2, (low + high) / 2, min(right - left, high - low) / 2
    return (x - half, y - half, x + half, y + half)


def pie(plot: Plot) -> None:
    """Slices, or a ring of them, from the top to the right, with names beside them."""
    state, names = plot.state, list(PALETTE)
    plot.has_frame = False
    left, low, right, high = _square(plot)
    centre, radius = ((left + right) / 2, (low + high) / 2), (right - left) / 2.5
    measure = state.measures[0]
    ends = 90 - 360 * np.cumsum([0.0, *measure.values]) / sum(measure.values)
    for entry, name in enumerate(state.entries):
        start, end = float(ends[entry]), float(ends[entry + 1])
        wide = radius * _RING if state.form == "donut" else None
        wedge = Wedge(centre, radius, end, start, width=wide, facecolor=hex_of(PALETTE[names[entry % len(names)]]))
        plot.add(wedge, BARS)
        plot.outlines[f"value:{entry}:0"] = wedge.get_path().transformed(wedge.get_patch_transform())
        turn = math.radians((start + end) / 2)
        place = (centre[0] + 1.1 * radius * math.cos(turn), centre[1] + 1.1 * radius * math.sin(turn))
        said = f"{name} {measure.text(entry)}" if measure.reading == "printed" else name
        plot.boxes[f"entry:{entry}"] = plot.words.write(
            place,
            said,
            size_px=plot.size_px,
            colour=plot.word("text.color"),
            across="left" if math.cos(turn) > 0 else "right",
            up="center",
        )


def radar(plot: Plot) -> None:
    """A ray for each entry, a ring at each ten of a hundred, a polygon for each measure."""
    state, colours, count = plot.state, plot.colours(), len(plot.state.entries)
    plot.has_frame = False
    left, low, right, high = _square(plot)
    # The name at the uppermost ray stands between the rings and the title.
    room = 2 * plot.size_px if state.title else 0.0
    plot.window = left, low, right, high = left + room / 2, low, right - room / 2, high - room
    plot.limits = (-100, -100, 100, 100)
    centre, radius = ((left + right) / 2, (low + high) / 2), (right - left) / 2
    turns = 2 * math.pi * np.arange(count) / count
    rays = np.column_stack([np.cos(turns), np.sin(turns)])
    plot.add(Circle(centre, radius, facecolor=plot.word("axes.facecolor"), linewidth=0), 0.0)
    circle = Path.unit_circle()
    rings = [np.asarray(circle.vertices) * (radius * tens / 10) + centre for tens in range(1, 11)]
    spokes = np.stack([np.broadcast_to(centre, (count, 2)), rays * radius + centre], axis=1).reshape(-1, 2)
    colour, style, width = plot.word("grid.color"), plot.word("grid.linestyle"), plot.number("grid.linewidth")
    for points, codes in (
        (np.concatenate(rings), np.tile(np.asarray(circle.codes, dtype=np.uint8), len(rings))),
        (spokes, np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=np.uint8), count)),
    ):
        plot.add(PathPatch(Path(points, codes), fill=False, edgecolor=colour, linestyle=style, linewidth=width), GRID)
    frame = {"edgecolor": plot.word("axes.edgecolor"), "linewidth": plot.number("axes.linewidth")}
    plot.add(Circle(centre, radius, fill=False, **frame), FRAME)
    for which, (measure, colour) in enumerate(zip(state.measures, colours)):
        spots = rays * np.asarray(measure.values, dtype=float)[:, None] * (radius / 100) + centre
        ring = np.concatenate([spots, spots[:1]])
        plot.line(ring, is_clipped=False, marker="o", markersize=4, color=colour)
        plot.add(PathPatch(Path(ring, closed=True), facecolor=colour, alpha=0.12, linewidth=0), BARS)
        plot.around(which, spots)
    _write_scales(plot, rays, centre, radius)

    def handle(which: int, box: PxBox) -> None:
        ends = np.array([(box[0], (box[1] + box[3]) / 2), (box[2], (box[1] + box[3]) / 2)])
        plot.line(ends, WORDS, is_clipped=False, color=colours[which])
        dot = ends.mean(axis=0, keepdims=True)
        plot.line(dot, WORDS, is_clipped=False, marker="o", markersize=4, color=colours[which])

    if len(state.measures) > 1:
        draw_legend(plot, handle)


def _write_scales(plot: Plot, rays: Floats, centre: tuple[float, float], radius: float) -> None:
    """The entries at the ends of their rays, and the numbers of the rings."""

    def ink(which: str) -> str:
        said = plot.word(f"{which}tick.labelcolor")
        return plot.word(f"{which}tick.color") if said == "inherit" else said

    reach = radius + (plot.number("xtick.major.pad") + _RAYS_PAD_PT) * PX
    for entry, (name, ray) in enumerate(zip(plot.state.entries, rays)):
        place = (float(centre[0] + reach * ray[0]), float(centre[1] + reach * ray[1]))
        box = plot.words.write(place, name, size_px=plot.size_px, colour=ink("x"), up="center")
        plot.boxes[f"entry:{entry}"] = box
    for tens in range(1, 11):
        out = radius * tens / 10
        place = (centre[0] + out * math.cos(_SCALE_TURN), centre[1] + out * math.sin(_SCALE_TURN))
        plot.words.write(place, str(10 * tens), size_px=plot.size_px, colour=ink("y"), across="left", up="bottom")
