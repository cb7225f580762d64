"""Labelled quantities: what charts, tables, receipts and instruments show, whatever they look like.

Entries ("Mar", "tea") have one value in each measure ("price", "sold"). A look draws ``value:E:M`` for each value,
``entry:E`` for its label, ``measure:M`` for what tells measures apart (a heading, a legend) and ``title``.
Axes: ``entries`` (how many), ``measures`` (how many), ``closeness`` (how near values lie to each other).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import FIRMS, GOODS, MONTHS, PALETTE, PEOPLE, TEAMS, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState
from saccade.tasks.scene import pick_several

AXES = ("entries", "measures", "closeness")

Reading = Literal["printed", "axis", "compared"]
"""How exactly a look tells values: as numbers, along an axis with a grid, or by size or shade alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A quantity that every entry has."""

    name: str
    values: tuple[float, ...]
    """In the order of the entries."""
    reading: Reading = "axis"
    step: float = 5.0
    """All values are multiples of it; what is read along an axis may be half of it off."""
    unit: str = ""
    decimals: int = 0
    colour: str = ""
    """The colour by which a legend calls it; "" where the look has its own."""

    def text(self, index: int) -> str:
        """The value as it is printed."""
        return f"{self.values[index]:.{self.decimals}f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantityState(SceneState):
    """Entries and their values."""

    noun: str
    """What the entries are, in the singular."""
    entries: tuple[str, ...]
    measures: tuple[Measure, ...]
    title: str = ""
    form: str = ""
    """The kind of chart or instrument."""
    is_ordered: bool = False
    """Whether the entries follow each other, as months do."""
    are_alike: bool = True
    """Whether the measures have one scale, so that they may be compared and added."""
    can_add: bool = True
    """Whether the sum of values means something."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """What else is printed, by its label: the sum and the date of a receipt. Elements by the same ids."""
    relation: str = "in"
    """The word between a value and its measure, as questions say it: "in" Oslo, "in the column" price."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantityLayout:
    """What states of a grammar have: numbers at the levels 0, 0.5 and 1."""

    form: str
    entries: tuple[int, int, int] = (4, 6, 10)
    measures: tuple[int, int, int] = (1, 1, 1)
    reading: Reading = "axis"
    low: float = 10
    high: float = 95
    step: float = 5
    decimals: int = 0
    is_ordered: bool | None = None
    """None: chance decides."""
    names: tuple[str, ...] = ()
    """Names of the measures; empty: those of series, with one scale."""
    noun: str = ""
    pool: tuple[str, ...] = ()
    """Words for entries; empty: a subject of this module."""
    subject: str = ""
    unit: str = ""
    sizes: tuple[tuple[int, int], ...] = ((480, 360), (560, 400), (640, 480))
    can_add: bool = True
    are_alike: bool = True
    relation: str = "in"

    @property
    def axes(self) -> tuple[str, ...]:
        """Named axes that change a state of this layout: one measure stays one at every level."""
        return tuple(axis for axis in AXES if axis != "measures" or self.measures[2] > 1)


SUBJECTS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("item", "sales", GOODS, "Sales by item"),
    ("town", "visitors", TOWNS, "Visitors by town"),
    ("person", "points", PEOPLE, "Points by person"),
    ("team", "wins", TEAMS, "Wins by team"),
    ("firm", "orders", FIRMS, "Orders by firm"),
)
ORDERED: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("month", "rain", MONTHS, "Rain by month"),
    ("month", "sales", MONTHS, "Sales by month"),
    ("year", "output", tuple(str(year) for year in range(2010, 2026)), "Output by year"),
)


def quantity_grammar(name: str, layout: QuantityLayout) -> Grammar:
    """The grammar of states with this layout."""
    return Grammar(name=name, draw=quantities_drawn(layout), axes=layout.axes)


def counts_of_entries(levels: Levels, entries: tuple[int, int, int]) -> tuple[int, int]:
    """The least and the largest number of entries, of so many at the levels 0, 0.5 and 1."""
    usual = levels.whole("entries", *entries)
    return max(3, round(0.7 * usual)), usual + 1


def quantities_drawn(layout: QuantityLayout) -> Callable[[Generator, Levels], QuantityState]:
    """Draws states: values are multiples of the step, different ones in a measure where there is room."""

    def draw(rng: Generator, levels: Levels) -> QuantityState:
        least, most = counts_of_entries(levels, layout.entries)
        count = int(rng.integers(least, most + 1))
        is_ordered = bool(rng.integers(2)) if layout.is_ordered is None else layout.is_ordered
        noun, measured, pool, title = _subject(rng, count, is_ordered=is_ordered)
        noun, pool, measured = layout.noun or noun, layout.pool or pool, layout.subject or measured
        title = title if not layout.noun else ""
        start = int(rng.integers(len(pool) - count + 1))
        entries = pool[start : start + count] if is_ordered else pick_several(rng, pool, count)
        names = _names(rng, layout, levels, measured)
        colours = pick_several(rng, tuple(PALETTE), len(names))
        measures = tuple(
            Measure(
                name=name,
                values=_values(rng, layout, levels, count),
                reading=layout.reading,
                step=layout.step,
                decimals=layout.decimals,
                unit=layout.unit,
                colour=colour,
            )
            for name, colour in zip(names, colours)
        )
        return with_elements(
            QuantityState(
                elements=(),
                noun=noun,
                entries=entries,
                measures=measures,
                title=title,
                form=layout.form,
                is_ordered=is_ordered,
                can_add=layout.can_add,
                are_alike=layout.are_alike,
                relation=layout.relation,
                width=_size(levels, layout)[0],
                height=_size(levels, layout)[1],
            )
        )

    return draw


def with_elements(state: QuantityState) -> QuantityState:
    """The state with one element for each value, label, measure and its title."""
    elements = [Element(id="title", kind="title", name="title")]
    elements += [Element(id=f"entry:{index}", kind="label", name=name) for index, name in enumerate(state.entries)]
    elements += [Element(id=key, kind="printed", name=key) for key in state.printed]
    for which, measure in enumerate(state.measures):
        elements.append(Element(id=f"measure:{which}", kind="label", name=measure.name))
        for index, name in enumerate(state.entries):
            attributes = {"value": measure.text(index)}
            elements.append(
                Element(
                    id=f"value:{index}:{which}",
                    kind="value",
                    name=f"{name} {measure.name}" if len(state.measures) > 1 else name,
                    attributes=attributes,
                    numbers={"value": measure.values[index]},
                )
            )
    return replace(state, elements=tuple(elements))


def _size(levels: Levels, layout: QuantityLayout) -> tuple[int, int]:
    return layout.sizes[levels.whole("entries", 0, 1, 2)]


def _subject(rng: Generator, count: int, *, is_ordered: bool) -> tuple[str, str, tuple[str, ...], str]:
    """A subject that has words for so many entries."""
    subjects = [subject for subject in (ORDERED if is_ordered else SUBJECTS) if len(subject[2]) >= count]
    return subjects[int(rng.integers(len(subjects)))]


def _names(rng: Generator, layout: QuantityLayout, levels: Levels, measured: str) -> tuple[str, ...]:
    count = levels.whole("measures", *layout.measures)
    if layout.measures[2] == 1:
        return layout.names or (measured,)
    count = int(rng.integers(max(2, count - 1), min(5, count + 1) + 1))
    return pick_several(rng, layout.names or ("Oslo", "Rome", "Lima", "Cairo", "Perth"), count)


def _values(rng: Generator, layout: QuantityLayout, levels: Levels, count: int) -> tuple[float, ...]:
    """Different values where the range has enough of them; closer together where it is harder."""
    lowest, highest = round(layout.low / layout.step), round(layout.high / layout.step)
    span = max(
        count + 1, round((highest - lowest) * levels.knob("closeness", 1.0, 0.9, 0.75) * float(rng.uniform(0.75, 1)))
    )
    start = lowest + int(rng.integers(max(1, highest - lowest - span + 1)))
    steps = np.arange(start, min(start + span, highest) + 1)
    chosen = rng.choice(steps, size=count, replace=len(steps) < count)
    return tuple(round(float(step) * layout.step, 4) for step in chosen)
