"""Programs on things that overlap: which lies above which, which are covered, how many overlap."""

import math

from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import at, by_name, chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES


def overlaps(one: Element, other: Element) -> bool:
    """Whether two discs have points in common."""
    distance = math.hypot(at(one).x - at(other).x, at(one).y - at(other).y)
    return one is not other and distance < one.numbers["radius"] + other.numbers["radius"]


def _discs(state: SceneState) -> tuple[Element, ...]:
    return state.of_kind("disc")


def _above(one: Element, discs: tuple[Element, ...]) -> list[Element]:
    """The discs that cover a part of one."""
    return [other for other in discs if overlaps(one, other) and other.depth < one.depth]


def _is_clear(state: SceneState) -> bool:
    """Whether no three discs meet, so that each overlap is seen as it is."""
    discs = _discs(state)
    return not any(
        overlaps(one, other) and overlaps(other, third) and overlaps(one, third)
        for i, one in enumerate(discs)
        for j, other in enumerate(discs[i + 1 :], i + 1)
        for third in discs[j + 1 :]
    )


def _pairs(state: SceneState) -> list[tuple[Element, Element]]:
    discs = _discs(state)
    return [(one, other) for i, one in enumerate(discs) for other in discs[i + 1 :] if overlaps(one, other)]


def _usual_overlaps(state: SceneState) -> range:
    """How often so many discs overlap, where that is not rare: 0 or 1 of three, 1 to 3 of seven."""
    return range(len(_discs(state)) // 6, len(_discs(state)) // 2 + 1)


def _solve_upper(state: SceneState, words: Words) -> str:
    first, second = (by_name(_discs(state), words[slot]) for slot in ("first", "second"))
    return first.name if first in _above(second, _discs(state)) else second.name


@program(
    "The {first} and the {second} overlap. Which lies above?",
    "Which of the two is not covered by the other: the {first} or the {second}?",
    solve=_solve_upper,
)
def _upper_of_two(asking: Asking) -> ProgramQuestion | None:
    pairs = _pairs(asking.state)
    if not pairs or not _is_clear(asking.state):
        return None
    pair = shuffled(asking.rng, chosen(asking.rng, pairs))
    words = {"first": pair[0].name, "second": pair[1].name}
    return choice_of(min(pair, key=lambda one: one.depth).name, [one.name for one in pair], words, pair)


def _solve_covers(state: SceneState, words: Words) -> str:
    first, second = (by_name(_discs(state), words[slot]) for slot in ("first", "second"))
    return whether(first in _above(second, _discs(state)))


@program(
    "Does the {first} cover a part of the {second}?",
    "Is a part of the {second} hidden by the {first}?",
    solve=_solve_covers,
)
def _covers(asking: Asking) -> ProgramQuestion | None:
    pairs = _pairs(asking.state)
    if not pairs or not _is_clear(asking.state):
        return None
    one, other = shuffled(asking.rng, chosen(asking.rng, pairs))
    holds = one.depth < other.depth
    if holds != asking.is_wanted:
        return None
    return yes_or_no(holds, {"first": one.name, "second": other.name}, [one, other])


@program(
    "How many discs are seen whole, covered by no other?",
    "Count the discs of which nothing is hidden.",
    solve=lambda state, words: str(sum(not _above(one, _discs(state)) for one in _discs(state))),
    experts=("points", "boxes"),
)
def _count_free(asking: Asking) -> ProgramQuestion | None:
    discs = _discs(asking.state)
    meant = [one for one in discs if not _above(one, discs)]
    if len(discs) - len(meant) != asking.wanted(_usual_overlaps(asking.state)) or not _is_clear(asking.state):
        return None
    return count_of(len(meant), {}, discs, wrong=[len(discs), len(discs) - len(meant)])


def _solve_touching(state: SceneState, words: Words) -> str:
    one = by_name(_discs(state), words["it"])
    return str(sum(overlaps(one, other) for other in _discs(state)))


@program(
    "How many discs overlap with the {it}?",
    "With how many other discs does the {it} overlap, above or below?",
    solve=_solve_touching,
    experts=("crop", "points", "boxes"),
)
def _count_overlapping(asking: Asking) -> ProgramQuestion | None:
    discs = _discs(asking.state)
    wanted = asking.wanted((0, 1, 2)[: len(discs) - 1])
    ones = [one for one in discs if sum(overlaps(one, other) for other in discs) == wanted]
    if not ones or not _is_clear(asking.state):
        return None
    one = chosen(asking.rng, ones)
    meant = [other for other in discs if overlaps(one, other)]
    return count_of(len(meant), {"it": one.name}, [one, *meant], wrong=[len(discs) - 1])


def _solve_alone(state: SceneState, words: Words) -> str:
    (found,) = [one for one in _discs(state) if all(not overlaps(one, other) for other in _discs(state))]
    return found.get("colour")


@program(
    "What colour is the disc that overlaps with no other?",
    "One disc lies apart from all others. What is its colour?",
    solve=_solve_alone,
)
def _alone(asking: Asking) -> ProgramQuestion | None:
    discs = _discs(asking.state)
    alone = [one for one in discs if not any(overlaps(one, other) for other in discs)]
    if len(alone) != 1 or not _is_clear(asking.state):
        return None
    wrong = [one.get("colour") for one in discs]
    return choice_of(alone[0].get("colour"), COLOUR_NAMES, {}, alone, alone[0].name, wrong=wrong)


@program(
    "How many pairs of discs overlap?",
    "At how many places do two discs overlap?",
    solve=lambda state, words: str(len(_pairs(state))),
    experts=("points", "boxes"),
)
def _count_pairs(asking: Asking) -> ProgramQuestion | None:
    pairs = _pairs(asking.state)
    if len(pairs) != asking.wanted(_usual_overlaps(asking.state)) or not _is_clear(asking.state):
        return None
    return count_of(len(pairs), {}, _discs(asking.state), wrong=[2 * len(pairs)])


DISC_PROGRAMS = (
    _upper_of_two,
    _covers,
    _count_free,
    _count_overlapping,
    _alone,
    _count_pairs,
)
