"""Programs on where things lie: directions, distances, between, corners, halves."""

import math
from itertools import combinations

from saccade.geometry import Point
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import Population, at, by_name, chosen, named_once, shuffled
from saccade.gym.state import Element, SceneState

DIRECTIONS = ("above and to the left", "above and to the right", "below and to the left", "below and to the right")
CORNERS = ("top left", "top right", "bottom left", "bottom right")
HALVES = ("left half", "right half", "upper half", "lower half")
RATIO = 1.25
"""Distances whose ratio is smaller are not told apart."""


def place_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    return (
        _direction(population),
        _nearest(population, is_nearest=True),
        _nearest(population, is_nearest=False),
        _closer_of_two(population),
        _between(population),
        _corner(population),
        _count_in_half(population),
    )


def distance(one: Element, other: Element) -> float:
    """Between centres, in pixels."""
    return math.hypot(at(one).x - at(other).x, at(one).y - at(other).y)


def _direction_of(one: Element, other: Element) -> str:
    """Where one lies, seen from the other."""
    return DIRECTIONS[2 * (at(one).y > at(other).y) + (at(one).x > at(other).x)]


def _direction(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        one, other = (by_name(population.of(state), words[slot]) for slot in ("it", "other"))
        vertical = "above" if at(one).y < at(other).y else "below"
        return f"{vertical} and to the {'left' if at(one).x < at(other).x else 'right'}"

    @program(
        "Where is the {it}, seen from the {other}?",
        "In which direction from the {other} does the {it} lie?",
        solve=solve,
    )
    def direction(asking: Asking) -> ProgramQuestion | None:
        wanted = asking.wanted(DIRECTIONS)
        named = shuffled(asking.rng, named_once(population.seen(asking)))
        for one in named:
            for other in named:
                apart = min(abs(at(one).x - at(other).x), abs(at(one).y - at(other).y))
                if one is not other and _direction_of(one, other) == wanted and apart >= one.numbers["radius"]:
                    words = {"it": one.name, "other": other.name}
                    return choice_of(wanted, DIRECTIONS, words, [one, other])
        return None

    return direction


def _nearest(population: Population, *, is_nearest: bool) -> Program:
    superlative = "nearest to" if is_nearest else "farthest from"

    def solve(state: SceneState, words: Words) -> str:
        one = by_name(population.of(state), words["it"])
        pick = min if is_nearest else max
        return population.tint_of(
            pick((e for e in population.of(state) if e is not one), key=lambda e: distance(one, e))
        )

    @program(
        f"Which {{kind}} does the {{one}} {superlative} the {{it}} have?",
        f"Find the {{one}} {superlative} the {{it}}: what is its {{kind}}?",
        name="nearest" if is_nearest else "farthest",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        for one in shuffled(asking.rng, named_once(elements)):
            ranked = sorted((e for e in elements if e is not one), key=lambda e: distance(one, e))
            if len(ranked) < 2:
                return None
            first, second = (ranked[0], ranked[1]) if is_nearest else (ranked[-1], ranked[-2])
            low, high = sorted((distance(one, first), distance(one, second)))
            if high >= low * (RATIO if is_nearest else 1.12):
                words = {"it": one.name, "one": population.one, "kind": population.tint}
                wrong = [population.tint_of(second)]
                return choice_of(
                    population.tint_of(first), population.tints, words, [one, first], first.name, wrong=wrong
                )
        return None

    return ask


def _closer_of_two(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        one, *two = (by_name(population.of(state), words[slot]) for slot in ("it", "first", "second"))
        return min(two, key=lambda e: distance(one, e)).name

    @program(
        "Which is closer to the {it}: the {first} or the {second}?",
        "Is it the {first} or the {second} that lies closer to the {it}?",
        solve=solve,
    )
    def closer_of_two(asking: Asking) -> ProgramQuestion | None:
        named = shuffled(asking.rng, named_once(population.seen(asking)))
        for one, first, second in combinations(named, 3):
            near, far = sorted((first, second), key=lambda e: distance(one, e))
            if distance(one, far) >= RATIO * distance(one, near):
                words = {"it": one.name, "first": first.name, "second": second.name}
                return choice_of(near.name, [first.name, second.name], words, [one, first, second], near.name)
        return None

    return closer_of_two


def _off_the_line(one: Element, start: Element, end: Element) -> tuple[float, float]:
    """How far along the way from start to end a thing lies, as a share, and its distance from that line."""
    across, down = at(end).x - at(start).x, at(end).y - at(start).y
    length = math.hypot(across, down)
    x, y = at(one).x - at(start).x, at(one).y - at(start).y
    return (x * across + y * down) / length**2, abs(x * down - y * across) / length


def _between(population: Population) -> Program:
    def on_way(elements: list[Element], start: Element, end: Element, reach: float) -> list[Element]:
        found = []
        for one in elements:
            if one is not start and one is not end:
                share, off = _off_the_line(one, start, end)
                if 0.1 <= share <= 0.9 and off <= reach * one.numbers["radius"]:
                    found.append(one)
        return found

    def solve(state: SceneState, words: Words) -> str:
        start, end = (by_name(population.of(state), words[slot]) for slot in ("start", "end"))
        (found,) = on_way(list(population.of(state)), start, end, 1.0)
        return population.tint_of(found)

    @program(
        "A straight line from the {start} to the {end} runs through one other {one}. What {kind} is it?",
        "What {kind} is the {one} that lies straight between the {start} and the {end}?",
        solve=solve,
    )
    def between(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        named = shuffled(asking.rng, named_once(elements))
        for start, end in combinations(named, 2):
            hit, near = on_way(elements, start, end, 0.6), on_way(elements, start, end, 1.5)
            if len(hit) == 1 and near == hit:
                words = {"start": start.name, "end": end.name, "one": population.one, "kind": population.tint}
                tint = population.tint_of(hit[0])
                wrong = [population.tint_of(start), population.tint_of(end)]
                return choice_of(tint, population.tints, words, [start, hit[0], end], hit[0].name, wrong=wrong)
        return None

    return between


def _corner_of(point: Point, state: SceneState) -> str:
    return CORNERS[2 * (point.y > state.height / 2) + (point.x > state.width / 2)]


def _corner(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        center = at(by_name(population.of(state), words["it"]))
        row = "top" if center.y < state.height / 2 else "bottom"
        return f"{row} {'left' if center.x < state.width / 2 else 'right'}"

    @program(
        "In which quarter of the picture is the {it}?", "Which quarter of the picture shows the {it}?", solve=solve
    )
    def corner(asking: Asking) -> ProgramQuestion | None:
        state, wanted = asking.state, asking.wanted(CORNERS)
        for one in shuffled(asking.rng, named_once(population.seen(asking))):
            center, apart = at(one), one.numbers["radius"]
            is_clear = min(abs(center.x - state.width / 2), abs(center.y - state.height / 2)) >= apart
            if is_clear and _corner_of(center, state) == wanted:
                return choice_of(wanted, CORNERS, {"it": one.name}, [one])
        return None

    return corner


def _in_half(one: Element, half: str, state: SceneState) -> bool:
    share = at(one).x / state.width if half in HALVES[:2] else at(one).y / state.height
    return (share < 0.5) == (half in ("left half", "upper half"))


def _count_in_half(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return str(sum(_in_half(one, words["half"], state) for one in population.of(state)))

    @program(
        "How many {many} lie in the {half} of the picture?",
        "Count the {many} in the {half} of the picture.",
        solve=solve,
        experts=("points", "boxes"),
    )
    def count_in_half(asking: Asking) -> ProgramQuestion | None:
        state, half = asking.state, chosen(asking.rng, HALVES)
        least, most = asking.levels.whole("clutter", 1, 1, 2), asking.levels.whole("clutter", 3, 5, 7)
        wanted = asking.wanted(range(least, most + 1))
        if sum(_in_half(one, half, state) for one in population.of(state)) != wanted:
            return None
        elements = population.seen(asking)
        for one in elements:
            off = at(one).x - state.width / 2 if half in HALVES[:2] else at(one).y - state.height / 2
            if abs(off) < one.numbers["radius"] * 0.75:
                return None
        meant = [one for one in elements if _in_half(one, half, state)]
        words = {"half": half, "many": population.many}
        return count_of(len(meant), words, meant, wrong=(len(elements), len(elements) - len(meant)))

    return count_in_half
