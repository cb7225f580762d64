"""Programs on the order of labelled quantities: extremes, ranks, comparisons, and what the labels say."""

from collections.abc import Mapping

import numpy as np

from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.choosing import shuffled
from saccade.gym.programs.quantity_words import (
    a_measure,
    are_apart,
    column_of,
    quantities,
    question_with,
    ranking,
    table_of,
    two_entries,
)
from saccade.gym.state import SceneState


def _extreme(asking: Asking, place: int) -> ProgramQuestion | None:
    """The entry of this place in the ranking; negative places count from the lowest."""
    state, which = quantities(asking), a_measure(asking)
    order = ranking(state.measures[which])
    if order is None or len(order) <= abs(place) + (place > 0):
        return None
    index, rival = order[place], order[place - 1 if place else 1]
    return question_with(state, which, state.entries[index], seen=[index], near=[state.entries[rival]])


def _ranking_program(name: str, place: int, *wordings: str) -> Program:
    """A program that asks for the entry of this place in the ranking."""

    def solve(state: SceneState, words: Mapping[str, str]) -> str:
        column = column_of(state, words)
        return list(column)[int(np.argsort([-value for value in column.values()])[place])]

    return Program(name=name, wordings=wordings, ask=lambda asking: _extreme(asking, place), solve=solve)


def _greater(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    a, b = two_entries(asking)
    measure = state.measures[which]
    if not are_apart(measure, measure.values[a], measure.values[b]):
        return None
    winner, loser = (a, b) if measure.values[a] > measure.values[b] else (b, a)
    words = {"first": state.entries[a], "second": state.entries[b]}
    near, both = [state.entries[loser]], list(words.values())
    return question_with(
        state, which, state.entries[winner], kind="choice", seen=[a, b], words=words, near=near, choices=both
    )


def _closest(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    measure = state.measures[which]
    index, _ = two_entries(asking)
    gaps = sorted((abs(v - measure.values[index]), i) for i, v in enumerate(measure.values) if i != index)
    if len(gaps) < 2 or not are_apart(measure, gaps[0][0], gaps[1][0]):
        return None
    best = gaps[0][1]
    words = {"name": state.entries[index]}
    near = [state.entries[gaps[1][1]]]
    return question_with(state, which, state.entries[best], seen=[index, best], words=words, near=near)


def _middle(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    order = ranking(state.measures[which])
    if order is None or len(order) % 2 == 0 or len(order) < 3:
        return None
    index = order[len(order) // 2]
    return question_with(state, which, state.entries[index], seen=order, near=[state.entries[order[0]]])


def _size(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    count = len(state.entries)
    labels = [f"entry:{index}" for index in range(count)]
    return question_with(state, 0, str(count), kind="integer", near=[str(count - 1), str(count + 1)], evidence=labels)


def _between(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    order = ranking(state.measures[which])
    if order is None or len(order) < 4:
        return None
    count = asking.wanted(range(len(order) - 1))
    a = int(asking.rng.integers(len(order) - 1 - count))
    b = a + count + 1
    ends = shuffled(asking.rng, (state.entries[order[a]], state.entries[order[b]]))
    words = {"first": ends[0], "second": ends[1]}
    near = [str(count + 2), str(count + 1)]
    return question_with(state, which, str(count), kind="integer", seen=order[a : b + 1], words=words, near=near)


def _place(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    order = ranking(state.measures[which])
    if order is None:
        return None
    at = asking.wanted(range(len(order)))
    words = {"name": state.entries[order[at]]}
    near = [str(len(order) - at), str(at + 2)]
    return question_with(state, which, str(at + 1), kind="integer", seen=order[: at + 1], words=words, near=near)


def _title(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    if not state.title:
        return None
    return question_with(state, 0, state.title, kind="text", evidence=["title"])


def _solve_closest(state: SceneState, words: Mapping[str, str]) -> str:
    column = column_of(state, words)
    rest = {entry: value for entry, value in column.items() if entry != words["name"]}
    return min(rest, key=lambda entry: abs(rest[entry] - column[words["name"]]))


def _solve_between(state: SceneState, words: Mapping[str, str]) -> str:
    column = column_of(state, words)
    ends = (column[words["first"]], column[words["second"]])
    return str(sum(min(ends) < value < max(ends) for value in column.values()))


HIGHEST = _ranking_program(
    "highest",
    0,
    "Which {noun} has the highest value{series}?",
    "Name the {noun} with the largest value{series}.",
)
LOWEST = _ranking_program(
    "lowest",
    -1,
    "Which {noun} has the lowest value{series}?",
    "Name the {noun} with the smallest value{series}.",
)
SECOND = _ranking_program(
    "second_highest",
    1,
    "Which {noun} ranks second by value{series}?",
    "Which {noun} has the second highest value{series}?",
)
THIRD = _ranking_program(
    "third_highest",
    2,
    "Which {noun} has the third highest value{series}?",
    "Which {noun} ranks third by value{series}?",
)
GREATER = Program(
    name="greater_of_two",
    wordings=("Which is larger{series}, {first} or {second}?", "Of {first} and {second}, which has more{series}?"),
    ask=_greater,
    solve=lambda state, words: max((words["first"], words["second"]), key=lambda entry: column_of(state, words)[entry]),
)
CLOSEST = Program(
    name="closest",
    wordings=(
        "Which {noun} has the value closest to that of {name}{series}?",
        "Whose value{series} is nearest to that of {name}? Name the {noun}.",
    ),
    ask=_closest,
    solve=_solve_closest,
)
MIDDLE = Program(
    name="median_entry",
    wordings=("Which {noun} has the median value{series}?", "Sorted by value{series}, which {noun} is in the middle?"),
    ask=_middle,
    solve=lambda state, words: min(
        column_of(state, words),
        key=lambda entry: abs(
            column_of(state, words)[entry] - float(np.median(list(column_of(state, words).values())))
        ),
    ),
)
SIZE = Program(
    name="entries",
    wordings=("How many {noun}s are shown?", "Count the {noun}s that are named."),
    ask=_size,
    solve=lambda state, words: str(len(table_of(state))),
)
BETWEEN = Program(
    name="between",
    wordings=(
        "How many {noun}s lie between {first} and {second} by value{series}?",
        "Count the {noun}s whose value{series} is between those of {first} and {second}.",
    ),
    ask=_between,
    solve=_solve_between,
)
PLACE = Program(
    name="rank",
    wordings=(
        "Sorted from the highest value{series}, in which place does {name} come?",
        "Counted from the highest value{series}, what is the rank of {name}?",
    ),
    ask=_place,
    solve=lambda state, words: str(
        1 + sum(value > column_of(state, words)[words["name"]] for value in column_of(state, words).values())
    ),
)
TITLE = Program(name="title", wordings=("What is the title?", "Read the title."), ask=_title)
