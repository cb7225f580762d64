"""States of charts whose values have a form of their own: spreads, points, bins, two scales."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.quantities import (
    Measure,
    QuantityLayout,
    QuantityState,
    quantities_drawn,
    with_elements,
)
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.tasks.scene import pick_several

SPREAD = ("minimum", "lower quartile", "median", "upper quartile", "maximum")

Change = Callable[[Generator, Levels, QuantityState], QuantityState]


def changed_grammar(name: str, layout: QuantityLayout, change: Change, axes: tuple[str, ...] | None = None) -> Grammar:
    """A grammar whose states are those of a layout, changed; ``axes`` are those that are left where not all are."""
    draw = quantities_drawn(layout)

    def drawn(rng: Generator, levels: Levels) -> QuantityState:
        return with_elements(change(rng, levels, draw(rng, levels)))

    return Grammar(name=name, draw=drawn, axes=layout.axes if axes is None else axes)


def spreads(rng: Generator, levels: Levels, state: QuantityState) -> QuantityState:
    """Five numbers for each entry, from the minimum to the maximum, as a box plot shows them."""
    rows = [sorted(float(v) * 5 for v in rng.choice(np.arange(1, 20), size=5, replace=False)) for _ in state.entries]
    measures = tuple(
        Measure(name=name, values=tuple(row[at] for row in rows), colour=state.measures[0].colour)
        for at, name in enumerate(SPREAD)
    )
    return replace(state, measures=measures, relation="for the", can_add=False)


def points(rng: Generator, levels: Levels, state: QuantityState) -> QuantityState:
    """Points that do not lie on each other, with two coordinates; a bubble has a size too."""
    count = len(state.entries)
    cells = [divmod(int(cell), 5) for cell in rng.permutation(25)[:count]]
    ys = [float(rng.permutation(19)[0] + 1) * 5 for _ in cells]
    xs = rng.permutation(np.arange(1, 20))[:count] * 5.0
    ys = [float(15 + 18 * row + 5 * int(rng.integers(3))) for row, _ in cells]
    names = ("x", "y")
    measures = [
        Measure(name=name, values=tuple(float(v) for v in values), colour=state.measures[0].colour, step=5)
        for name, values in zip(names, (xs.tolist(), ys))
    ]
    if state.form == "bubble":
        sizes = tuple(float(v) for v in rng.permutation(np.array([12, 20, 30, 42, 56, 72, 90]))[:count])
        measures.append(Measure(name="size", values=sizes, reading="compared", colour=state.measures[0].colour))
    return replace(state, measures=tuple(measures), relation="by", are_alike=False, can_add=False, title="")


def bins(rng: Generator, levels: Levels, state: QuantityState) -> QuantityState:
    """Counts in bins that follow each other."""
    width = int(rng.choice([5, 10, 20]))
    start = width * int(rng.integers(0, 6))
    names = tuple(f"{start + i * width}–{start + (i + 1) * width}" for i in range(len(state.entries)))
    measure = replace(state.measures[0], name="count")
    return replace(state, entries=names, noun="bin", is_ordered=True, measures=(measure,), title="Counts by bin")


def two_scales(rng: Generator, levels: Levels, state: QuantityState) -> QuantityState:
    """Two measures with scales of their own, left and right."""
    first, second = pick_several(rng, tuple(PALETTE), 2)
    count = len(state.entries)
    rain = Measure(name="rain", values=state.measures[0].values, colour=first, step=5, unit="mm")
    heat = tuple(float(v) * 2 for v in rng.choice(np.arange(2, 17), size=count, replace=False))
    warm = Measure(name="heat", values=heat, colour=second, step=2, unit="degrees")
    return replace(state, measures=(rain, warm), relation="for", are_alike=False, can_add=False, title="Weather")
