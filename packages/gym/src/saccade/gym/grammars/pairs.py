"""Pairs of pictures: the same things twice, some of them changed in the second.

Axes: ``clutter`` (how many things), ``changes`` (how many are changed at most), ``size`` (how small).
"""

from dataclasses import dataclass, replace

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.fine import CANVAS_PX, LETTERS
from saccade.gym.grammars.plates import plate
from saccade.gym.grammars.things import largest_radius, spread, thing
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, others, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

AXES = ("clutter", "changes", "size")
SIDE_PX = 256
CHANGES = ("colour", "shape", "place", "gone", "new")


@dataclass(frozen=True, kw_only=True, slots=True)
class ThingChange:
    """A change from the first picture to the second; ids are "" where the thing is not there."""

    kind: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PairState(SceneState):
    """Two views, and what has changed."""

    changes: tuple[ThingChange, ...] = ()


def _count_of_changes(rng: Generator, levels: Levels) -> int:
    """None one time in five, one about every other time, else as many as there may be."""
    chance = rng.random()
    return 0 if chance < 0.2 else 1 if chance < 0.65 else int(rng.integers(1, levels.whole("changes", 1, 2, 4) + 1))


def _second(element: Element, **changed: str) -> Element:
    attributes = {**element.attributes, **changed}
    name = f"{attributes['colour']} {attributes.get('shape', 'plate')}"
    return replace(element, id=f"{element.id}b", view=1, attributes=attributes, name=name)


def draw_pairs(rng: Generator, levels: Levels) -> PairState:
    """Things with different names; one place stays free for what moves or is new."""
    count, changes = levels.whole("clutter", 3, 6, 10), _count_of_changes(rng, levels)
    radius = min(levels.knob("size", 26, 17, 10), largest_radius(count + changes, SIDE_PX))
    names = [(colour, shape) for colour in COLOUR_NAMES for shape in SHAPES]
    picked = shuffled(rng, names)[: count + changes]
    centers = spread(rng, count + changes, radius, SIDE_PX)
    firsts = [thing(i, colour, shape, centers[i], radius) for i, (colour, shape) in enumerate(picked[:count])]
    elements, found, free = list(firsts), [], centers[count:]
    changed = {int(i) for i in rng.permutation(count)[:changes]}
    for index, one in enumerate(firsts):
        if index not in changed:
            elements.append(_second(one))
            continue
        kind = chosen(rng, CHANGES)
        taken = {element.name for element in elements}
        made = _thing_after(rng, one, kind, free.pop(), taken)
        if made is None:
            found.append(ThingChange(kind="gone", first=one.id, second=""))
        elif kind == "new":
            elements.append(_second(one))
            elements.append(made)
            found.append(ThingChange(kind="new", first="", second=made.id))
        else:
            elements.append(made)
            found.append(ThingChange(kind=kind, first=one.id, second=made.id))
    return PairState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX, views=2, changes=tuple(found))


def _thing_after(rng: Generator, one: Element, kind: str, free: Point, taken: set[str]) -> Element | None:
    """What one thing is in the second picture; a new one beside it; None where it is gone."""
    colour, shape = one.attributes["colour"], one.attributes["shape"]
    if kind == "place":
        return replace(_second(one), center=free)
    if kind == "colour":
        options = [name for name in others(COLOUR_NAMES, colour) if f"{name} {shape}" not in taken]
        return _second(one, colour=chosen(rng, options)) if options else None
    if kind == "shape":
        options = [name for name in others(SHAPES, shape) if f"{colour} {name}" not in taken]
        return _second(one, shape=chosen(rng, options)) if options else None
    if kind == "new":
        names = [(c, s) for c in COLOUR_NAMES for s in SHAPES if f"{c} {s}" not in taken]
        colour, shape = chosen(rng, names)
        made = replace(_second(one, colour=colour, shape=shape), center=free)
        return replace(made, id=f"{one.id}c")
    return None


def draw_plate_pairs(rng: Generator, levels: Levels) -> PairState:
    """Plates of different colours with letters; changed ones bear another letter in the second picture."""
    count, changes = levels.whole("clutter", 3, 5, 8), _count_of_changes(rng, levels)
    cells = [int(cell) for cell in rng.permutation((CANVAS_PX // 64) ** 2)[:count]]
    colours = shuffled(rng, COLOUR_NAMES)
    firsts = [
        plate(index, cell, colours[index], "letter", chosen(rng, LETTERS), rng) for index, cell in enumerate(cells)
    ]
    changed = {int(i) for i in rng.permutation(count)[:changes]}
    seconds, found = [], []
    for index, one in enumerate(firsts):
        if index in changed:
            seconds.append(_second(one, letter=chosen(rng, others(LETTERS, one.attributes["letter"]))))
            found.append(ThingChange(kind="letter", first=one.id, second=seconds[-1].id))
        else:
            seconds.append(_second(one))
    return PairState(elements=(*firsts, *seconds), width=CANVAS_PX, height=CANVAS_PX, views=2, changes=tuple(found))


PAIRS = Grammar(name="pairs of things", draw=draw_pairs, axes=AXES)
PLATE_PAIRS = Grammar(name="pairs of plates", draw=draw_plate_pairs, axes=("clutter", "changes"))
