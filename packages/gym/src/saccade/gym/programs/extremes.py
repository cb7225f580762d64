"""Programs on the first and the last of an order: leftmost, lowest, largest; the n-th; which of two, by a quantity."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import Population, at, by_name, chosen, named_once, shuffled, values
from saccade.gym.state import Element, SceneState

ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, kw_only=True, slots=True)
class ThingOrder:
    """An order of elements by a quantity."""

    name: str
    most: str
    """What the one with the largest quantity is."""
    least: str
    more: str
    """How one is to another with a smaller quantity, with its "than"."""
    less: str
    quantity: Callable[[Element], float]
    margin: Callable[[Sequence[Element]], float]
    """Two quantities that differ by less are not told apart."""


RIGHT = ThingOrder(
    name="across",
    most="farthest to the right",
    least="farthest to the left",
    more="farther to the right than",
    less="farther to the left than",
    quantity=lambda one: at(one).x,
    margin=lambda elements: _least_radius(elements),
)
DOWN = ThingOrder(
    name="down",
    most="lowest",
    least="highest up",
    more="lower down than",
    less="higher up than",
    quantity=lambda one: at(one).y,
    margin=lambda elements: _least_radius(elements),
)
SIZE = ThingOrder(
    name="size",
    most="largest",
    least="smallest",
    more="larger than",
    less="smaller than",
    quantity=lambda one: math.log(one.numbers["radius"]),
    margin=lambda elements: math.log(1.2),
)


def _least_radius(elements: Sequence[Element]) -> float:
    """Half the radius of the smallest: what is nearer in position than this is not asked about."""
    return 0.6 * min(one.numbers.get("radius", 8.0) for one in elements)


def extreme_programs(population: Population, order: ThingOrder) -> tuple[Program, ...]:
    """All programs of this module for a population in an order."""
    return (
        _extreme(population, order, is_most=True),
        _extreme(population, order, is_most=False),
        _extreme_of_group(population, order),
        _which_of_two(population, order),
        _is_more(population, order),
        _count_beyond(population, order),
    )


def ordinal_program(population: Population, order: ThingOrder) -> Program:
    """The n-th of all in an order, from its beginning."""

    def solve(state: SceneState, words: Words) -> str:
        ranked = sorted(population.of(state), key=order.quantity)
        return population.tint_of(ranked[ORDINALS.index(words["nth"])])

    @program(
        "Put the {many} in order, beginning with the one {least}. What is the {kind} of the {nth}?",
        "Of all {many}, counted from the one {least}, what is the {kind} of the {nth} one?",
        name=f"nth_{order.name}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = sorted(population.seen(asking), key=order.quantity)
        place = int(asking.rng.integers(1, len(ORDINALS)))
        if len(elements) <= place + 1 or not _clear(order, elements, elements[place]):
            return None
        one = elements[place]
        words = {"nth": ORDINALS[place], "many": population.many, "kind": population.tint, "least": order.least}
        said = " ".join(population.tint_of(e) for e in elements[: place + 1])
        wrong = [population.tint_of(elements[near]) for near in (place - 1, place + 1)]
        return choice_of(population.tint_of(one), population.tints, words, elements[: place + 1], said, wrong=wrong)

    return ask


def _clear(order: ThingOrder, elements: Sequence[Element], one: Element) -> bool:
    """Whether the quantity of one is far enough from that of every other."""
    margin = order.margin(elements)
    return all(other is one or abs(order.quantity(other) - order.quantity(one)) >= margin for other in elements)


def _extreme(population: Population, order: ThingOrder, *, is_most: bool) -> Program:
    asked_for = order.most if is_most else order.least

    def solve(state: SceneState, words: Words) -> str:
        pick = max if is_most else min
        return population.tint_of(pick(population.of(state), key=order.quantity))

    @program(
        "What is the {kind} of the {one} that is {extreme}?",
        "Find the {one} that is {extreme}. Which {kind} does it have?",
        name=f"{'most' if is_most else 'least'}_{order.name}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = sorted(population.seen(asking), key=order.quantity, reverse=is_most)
        if len(elements) < 2 or not _clear(order, elements, elements[0]):
            return None
        one = elements[0]
        words = {"one": population.one, "kind": population.tint, "extreme": asked_for}
        wrong = [population.tint_of(other) for other in elements[1:3]]
        return choice_of(population.tint_of(one), population.tints, words, [one], one.name, wrong=wrong)

    return ask


def _extreme_of_group(population: Population, order: ThingOrder) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        pick = max if words["extreme"] == order.most else min
        meant = [one for one in population.of(state) if population.tint_of(one) == words["tint"]]
        return population.sort_of(pick(meant, key=order.quantity))

    @program(
        "Among the {group}, what is the {kind} of the one that is {extreme}?",
        "Look at the {group} alone. Which {kind} does the one that is {extreme} have?",
        name=f"extreme_{order.name}_of_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements, is_most = population.seen(asking), bool(asking.rng.integers(2))
        for tint in shuffled(asking.rng, sorted(values(elements, population.tint))):
            meant = [one for one in elements if population.tint_of(one) == tint]
            meant.sort(key=order.quantity, reverse=is_most)
            sorts = values(meant, population.sort)
            if len(meant) < 2 or len(sorts) < 2 or not _clear(order, meant, meant[0]):
                continue
            group = population.say(population.phrases.tint, tint)
            words = {"group": group, "tint": tint, "kind": population.sort}
            words["extreme"] = order.most if is_most else order.least
            wrong = [population.sort_of(other) for other in meant[1:]]
            return choice_of(population.sort_of(meant[0]), population.sorts, words, meant, meant[0].name, wrong=wrong)
        return None

    return ask


def _pair(asking: Asking, population: Population, order: ThingOrder) -> tuple[Element, Element] | None:
    """Two elements with names of their own whose quantities differ clearly, in random order."""
    named = shuffled(asking.rng, named_once(population.seen(asking)))
    margin = order.margin(population.seen(asking))
    for place, one in enumerate(named):
        for other in named[place + 1 :]:
            if abs(order.quantity(one) - order.quantity(other)) >= margin:
                return one, other
    return None


def _which_of_two(population: Population, order: ThingOrder) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        pair = [by_name(population.of(state), words[slot]) for slot in ("first", "second")]
        return max(pair, key=order.quantity).name

    @program(
        "Which is {more}: the {first} or the {second}?",
        "Of the {first} and the {second}, which one is {more}?",
        name=f"which_of_two_{order.name}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        pair = _pair(asking, population, order)
        if pair is None:
            return None
        ranked = sorted(pair, key=order.quantity)
        words = {"first": pair[0].name, "second": pair[1].name, "more": order.more.removesuffix(" than")}
        return choice_of(ranked[1].name, [one.name for one in pair], words, pair, ranked[1].name)

    return ask


def _is_more(population: Population, order: ThingOrder) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        first, second = (by_name(population.of(state), words[slot]) for slot in ("first", "second"))
        if words["relation"] == order.less:
            first, second = second, first
        return whether(order.quantity(first) > order.quantity(second))

    def falsify(asking: Asking) -> ProgramQuestion | None:
        pair = _pair(asking, population, order)
        there = {one.name for one in population.of(asking.state)}
        names = [f"{tint} {sort}" for tint in population.tints for sort in population.sorts]
        missing = [name for name in names if name not in there]
        if pair is None or not missing or not set(names) & there:
            return None
        words = {"first": pair[0].name, "second": chosen(asking.rng, missing), "relation": order.more}
        return yes_or_no(True, words, pair[:1])

    @program(
        "Is the {first} {relation} the {second}?",
        "Answer yes or no: the {first} is {relation} the {second}.",
        name=f"is_more_{order.name}",
        solve=solve,
        falsify=falsify,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        pair = _pair(asking, population, order)
        if pair is None:
            return None
        is_more = order.quantity(pair[0]) > order.quantity(pair[1])
        says_more = bool(asking.rng.integers(2))
        relation = order.more if says_more else order.less
        words = {"first": pair[0].name, "second": pair[1].name, "relation": relation}
        return yes_or_no(is_more == says_more, words, pair)

    return ask


def _beyond(order: ThingOrder, elements: Sequence[Element], one: Element, says_more: bool) -> list[Element]:
    """Those with a larger quantity than one, or with a smaller."""
    return [e for e in elements if e is not one and (order.quantity(e) > order.quantity(one)) == says_more]


def _count_beyond(population: Population, order: ThingOrder) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        one = by_name(population.of(state), words["it"])
        sign = -1 if words["relation"] == order.less else 1
        return str(sum(sign * (order.quantity(e) - order.quantity(one)) > 0 for e in population.of(state)))

    @program(
        "How many {many} are {relation} the {it}?",
        "Count the {many} that are {relation} the {it}.",
        name=f"count_beyond_{order.name}",
        solve=solve,
        experts=("points", "boxes"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.of(asking.state)
        named = [one for one in named_once(elements) if _clear(order, elements, one)]
        beyond = [(len(_beyond(order, elements, *way)), way) for way in product(named, (True, False))]
        found = asking.with_wanted(range(asking.levels.whole("clutter", 3, 5, 7)), beyond)
        if found is None:
            return None
        one, says_more = found
        meant = _beyond(order, population.seen(asking), one, says_more)
        words = {"it": one.name, "many": population.many, "relation": order.more if says_more else order.less}
        return count_of(len(meant), words, [one, *meant], wrong=(len(elements) - 1 - len(meant),))

    return ask
