"""What programs choose by: chance, words for things, and which things they may speak of."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.program import Asking
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """How a population's members are spoken of: several of them, then one."""

    tint: str = "{tint} {many}"
    sort: str = "{sorts}"
    both: str = "{tint} {sorts}"
    either: str = "{many} that are {tint} or {other_tint}"
    not_tint: str = "{many} that are not {tint}"
    sort_not_tint: str = "{sorts} that are not {tint}"
    tint_or_sort: str = "{many} that are {tint} or have the form {sort} (or both)"
    one_tint: str = "{tint} {one}"
    one_sort: str = "{sort}"
    one_both: str = "{tint} {sort}"
    has_tint: str = "{tint}"
    """After "is" and "are": what its tint makes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Population:
    """The elements that a set of programs speaks of, told apart by a tint and a sort: "red", "star"."""

    kind: str = "thing"
    one: str = "object"
    many: str = "objects"
    tint: str = "colour"
    """The attribute whose value stands before the noun."""
    tints: tuple[str, ...] = COLOUR_NAMES
    sort: str = "shape"
    """The attribute whose value is the noun."""
    sorts: tuple[str, ...] = SHAPES
    phrases: Phrases = Phrases()

    def say(self, phrase: str, tint: str = "", sort: str = "", other_tint: str = "") -> str:
        """A phrase with its words."""
        return phrase.format(
            tint=tint, sort=sort, other_tint=other_tint, sorts=plural(sort), one=self.one, many=self.many
        )

    def tint_of(self, element: Element) -> str:
        return element.get(self.tint)

    def sort_of(self, element: Element) -> str:
        return element.get(self.sort)

    def of(self, state: SceneState) -> tuple[Element, ...]:
        return state.of_kind(self.kind)

    def seen(self, asking: Asking) -> list[Element]:
        """Those that the picture shows, in reading order."""
        shown = {region.element for region in asking.rendering.regions}
        return in_reading_order([one for one in self.of(asking.state) if one.id in shown], asking.state.height)


THINGS = Population()
"""Coloured shapes."""


def chosen(rng: Generator, options: Sequence[Item]) -> Item:
    """One of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def shuffled(rng: Generator, options: Sequence[Item]) -> list[Item]:
    """The options in random order."""
    return [options[int(i)] for i in rng.permutation(len(options))]


def others(options: Iterable[str], *left_out: str) -> tuple[str, ...]:
    """The options but for some."""
    return tuple(option for option in options if option not in left_out)


def in_reading_order(elements: Sequence[Element], height: int) -> list[Element]:
    """From the top, band by band, each from left to right."""
    band = height / 8
    return sorted(elements, key=lambda one: (int(at(one).y / band), at(one).x))


def at(element: Element) -> Point:
    """The centre of an element that has one."""
    assert element.center is not None
    return element.center


def values(elements: Iterable[Element], attribute: str) -> Counter[str]:
    """How many elements have each value of an attribute."""
    return Counter(one.get(attribute) for one in elements)


def only(elements: Sequence[Element], attribute: str) -> list[Element]:
    """Those whose value of an attribute no other has."""
    counted = values(elements, attribute)
    return [one for one in elements if counted[one.get(attribute)] == 1]


def named_once(elements: Sequence[Element]) -> list[Element]:
    """Those whose name no other has."""
    counted = Counter(one.name for one in elements)
    return [one for one in elements if counted[one.name] == 1]


def by_name(elements: Iterable[Element], name: str) -> Element:
    """The one element of this name; ValueError unless there is exactly one."""
    (found,) = [one for one in elements if one.name == name]
    return found


def absent_pair(asking: Asking, population: Population) -> tuple[str, str] | None:
    """A tint and a sort that are both there, but not in one element; None where every pair is there."""
    elements = population.seen(asking)
    pairs = {(one.get(population.tint), one.get(population.sort)) for one in elements}
    missing = [
        (tint, sort)
        for tint in sorted({pair[0] for pair in pairs})
        for sort in sorted({pair[1] for pair in pairs})
        if (tint, sort) not in pairs
    ]
    return chosen(asking.rng, missing) if missing else None


def plural(noun: str) -> str:
    """More than one of a noun."""
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
