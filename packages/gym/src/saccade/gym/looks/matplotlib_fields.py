"""Charts whose values fill a field that matplotlib draws: named points, bubbles, shaded cells. Imports matplotlib."""

from __future__ import annotations

import math

import matplotlib
import numpy as np
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, IdentityTransform

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.looks.matplotlib_axes import Which, draw_ticks, name_axis
from saccade.gym.looks.matplotlib_plot import BARS, DPI, PX, Plot

_HALF = Affine2D().scale(0.5)
"""Of a circle, to a diameter of one, by which sizes are given."""


def bubble_px(state: QuantityState, entry: int) -> float:
    """Radius of a bubble: its area is as its size."""
    if state.form != "bubble":
        return 5
    return 3.2 * math.sqrt(state.measures[2].values[entry])


def scatter(plot: Plot) -> None:
    state = plot.state
    plot.limits = (0, 0, 110, 110)
    spots = plot.spots(state.measures[0].values, state.measures[1].values)
    radii = [bubble_px(state, entry) for entry in range(len(spots))]
    sizes = [(1.7 * radius * 72 / DPI) ** 2 for radius in radii] if state.form == "bubble" else [30.0]
    discs = PathCollection(
        [Path.unit_circle().transformed(_HALF)],
        sizes=sizes,
        offsets=spots,
        offset_transform=IdentityTransform(),
        facecolors=plot.colours()[0],
        edgecolors="face",
        linewidths=plot.number("patch.linewidth"),
        alpha=0.75,
    )
    discs.set_transform(IdentityTransform())
    discs.set_figure(plot.styled.figure)  # from which it takes the pixels of a point
    plot.add(discs, BARS, is_clipped=True)
    for which in range(len(state.measures)):
        plot.around(which, spots, radii)
    for entry, name in enumerate(state.entries):
        above = (radii[entry] if state.form == "bubble" else 4) * 0.9 * PX
        place = (float(spots[entry, 0]), float(spots[entry, 1]) + above)
        box = plot.words.write(place, name, size_px=plot.size_px, colour=plot.word("text.color"))
        plot.boxes[f"entry:{entry}"] = box
    marks = range(0, 111, 10)
    sides: tuple[Which, Which] = ("x", "y")
    for which, side in enumerate(sides):
        labels = draw_ticks(plot, side, marks, [str(mark) for mark in marks], has_grid=True)
        plot.boxes[f"measure:{which}"] = name_axis(plot, side, state.measures[which].name, labels)


def heat(plot: Plot) -> None:
    state = plot.state
    grid = np.asarray([measure.values for measure in state.measures], dtype=float).T
    rows, columns = grid.shape
    plot.limits = (0, rows, columns, 0)
    down, across = (side.ravel().astype(float) for side in np.indices(grid.shape))
    corners = [plot.spots(across + x, down + y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    colours = matplotlib.colormaps["YlGnBu"](grid.ravel() / (float(grid.max()) * 1.1))
    cells = PolyCollection(list(np.stack(corners, axis=1)), facecolors=colours, edgecolors="white")
    cells.set_transform(IdentityTransform())
    cells.set_figure(plot.styled.figure)
    plot.add(cells, BARS, is_clipped=True)
    for place, (value, spot) in enumerate(zip(grid.ravel(), plot.spots(across + 0.5, down + 0.5))):
        entry, which = divmod(place, columns)
        ink = "white" if value > 0.6 * grid.max() else "black"
        middle, said = (float(spot[0]), float(spot[1])), state.measures[which].text(entry)
        box = plot.words.write(middle, said, size_px=plot.size_px, colour=ink, up="center")
        plot.boxes[f"value:{entry}:{which}"] = box
    labels = draw_ticks(plot, "y", [entry + 0.5 for entry in range(rows)], state.entries)
    plot.boxes.update({f"entry:{entry}": box for entry, box in enumerate(labels)})
    names = [measure.name for measure in state.measures]
    labels = draw_ticks(plot, "x", [which + 0.5 for which in range(columns)], names)
    plot.boxes.update({f"measure:{which}": box for which, box in enumerate(labels)})
