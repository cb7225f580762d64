"""Programs on one measure of labelled quantities: values, sums, differences and counts."""

import numpy as np

from saccade.gym.grammars.words import GOODS, MONTHS, TEAMS, TOWNS
from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.quantity_words import (
    a_readable,
    are_apart,
    column_of,
    number,
    quantities,
    question_with,
    thresholds,
    two_entries,
    value_text,
)

MOST_ADDED = 9
"""So many values are added up at most."""


def _value(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    index, other = two_entries(asking)
    values = state.measures[which].values
    words = {"name": state.entries[index]}
    return number(state, which, values[index], seen=[index], words=words, near=[values[other]])


def _absent(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    pool = next((p for p in (MONTHS, TEAMS, TOWNS, GOODS) if state.entries[0] in p), GOODS)
    missing = [word for word in pool if word not in state.entries]
    if not missing:
        return None
    name = missing[int(asking.rng.integers(len(missing)))]
    return question_with(
        state, which, "", words={"name": name}, evidence=[f"entry:{i}" for i in range(len(state.entries))]
    )


def _peak(asking: Asking, place: int) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    values = state.measures[which].values
    order = sorted(range(len(values)), key=lambda index: -values[index])
    index = order[place]
    return number(state, which, values[index], seen=[index], near=[values[order[1 if place == 0 else -2]]])


def _difference(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    a, b = two_entries(asking)
    values = state.measures[which].values
    if not are_apart(state.measures[which], values[a], values[b]):
        return None
    a, b = (a, b) if values[a] > values[b] else (b, a)
    words = {"first": state.entries[a], "second": state.entries[b]}
    return number(
        state, which, values[a] - values[b], seen=[a, b], parts=2, words=words, near=[values[a], values[a] + values[b]]
    )


def _pair_sum(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None or not state.can_add:
        return None
    a, b = two_entries(asking)
    values = state.measures[which].values
    words = {"first": state.entries[a], "second": state.entries[b]}
    return number(
        state, which, values[a] + values[b], seen=[a, b], parts=2, words=words, near=[abs(values[a] - values[b])]
    )


def _total(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None or not state.can_add or len(state.entries) > MOST_ADDED:
        return None
    values = state.measures[which].values
    every = range(len(values))
    return number(state, which, sum(values), seen=every, parts=len(values), near=[sum(values) - values[0], max(values)])


def _spread(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    values = state.measures[which].values
    top, bottom = values.index(max(values)), values.index(min(values))
    return number(
        state, which, values[top] - values[bottom], seen=[top, bottom], parts=2, near=[values[top], values[bottom]]
    )


def _count(asking: Asking, *, is_above: bool) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    levels = [] if which is None else thresholds(state.measures[which])
    if which is None or not levels:
        return None
    level = asking.wanted(levels)
    values = state.measures[which].values
    found = [index for index, value in enumerate(values) if (value > level) == is_above]
    count = len(found)
    words = {"level": f"{level:g}"}
    near = [str(count + 1), str(len(values) - count)]
    return question_with(state, which, str(count), kind="integer", seen=found, words=words, near=near)


def _holder(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None:
        return None
    measure = state.measures[which]
    index, other = two_entries(asking)
    if sum(not are_apart(measure, value, measure.values[index]) for value in measure.values) != 1:
        return None
    words = {"value": measure.text(index)}
    return question_with(state, which, state.entries[index], seen=[index], words=words, near=[state.entries[other]])


def _ratio(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None or not state.can_add:
        return None
    measure = state.measures[which]
    values, size = measure.values, len(measure.values)
    pairs = [
        (a, b)
        for a in range(size)
        for b in range(size)
        if values[b] > 0 and values[a] / values[b] in (2.0, 3.0, 4.0, 5.0)
    ]
    times = asking.wanted((2, 3, 4, 5))
    pairs = [(a, b) for a, b in pairs if round(values[a] / values[b]) == times]
    if not pairs:
        return None
    a, b = pairs[int(asking.rng.integers(len(pairs)))]
    words = {"first": state.entries[a], "second": state.entries[b]}
    return question_with(state, which, str(times), kind="integer", seen=[a, b], words=words, near=[str(times + 1)])


VALUE = Program(
    name="value",
    wordings=(
        "What is the value of {name}{series}?",
        "What number does the picture give for {name}{series}?",
        "Which number belongs to {name}{series}?",
    ),
    ask=_value,
    falsify=_absent,
    solve=lambda state, words: value_text(state, words, column_of(state, words)[words["name"]]),
)
PEAK = Program(
    name="highest_value",
    wordings=("What is the highest value{series}?", "What is the largest value{series}?"),
    ask=lambda asking: _peak(asking, 0),
    solve=lambda state, words: value_text(state, words, max(column_of(state, words).values())),
)
BOTTOM = Program(
    name="lowest_value",
    wordings=("What is the lowest value{series}?", "What is the smallest value{series}?"),
    ask=lambda asking: _peak(asking, -1),
    solve=lambda state, words: value_text(state, words, min(column_of(state, words).values())),
)
DIFFERENCE = Program(
    name="difference",
    spread=8,
    wordings=(
        "By how much is {first} above {second}{series}?",
        "What is the difference between {first} and {second}{series}?",
    ),
    ask=_difference,
    solve=lambda state, words: value_text(
        state, words, column_of(state, words)[words["first"]] - column_of(state, words)[words["second"]]
    ),
)
PAIR_SUM = Program(
    name="sum_of_two",
    wordings=("What do {first} and {second} add up to{series}?", "What is the sum of {first} and {second}{series}?"),
    ask=_pair_sum,
    solve=lambda state, words: value_text(
        state, words, sum(column_of(state, words)[words[which]] for which in ("first", "second"))
    ),
)
TOTAL = Program(
    name="total",
    wordings=("What is the total of all values{series}?", "What do all values{series} add up to?"),
    ask=_total,
    solve=lambda state, words: value_text(state, words, sum(column_of(state, words).values())),
)
SPREAD = Program(
    name="range",
    spread=8,
    wordings=(
        "What is the difference between the highest and the lowest value{series}?",
        "How far apart are the largest and the smallest value{series}?",
    ),
    ask=_spread,
    solve=lambda state, words: value_text(state, words, float(np.ptp(list(column_of(state, words).values())))),
)
COUNT_ABOVE = Program(
    name="count_above",
    wordings=("How many values are above {level}{series}?", "Count the values greater than {level}{series}."),
    ask=lambda asking: _count(asking, is_above=True),
    solve=lambda state, words: str(sum(v > float(words["level"]) for v in column_of(state, words).values())),
)
COUNT_BELOW = Program(
    name="count_below",
    wordings=("How many values are below {level}{series}?", "Count the values smaller than {level}{series}."),
    ask=lambda asking: _count(asking, is_above=False),
    solve=lambda state, words: str(sum(v < float(words["level"]) for v in column_of(state, words).values())),
)
HOLDER = Program(
    name="holder",
    wordings=("Which {noun} has the value {value}{series}?", "Whose value is {value}{series}? Name the {noun}."),
    ask=_holder,
    solve=lambda state, words: next(
        entry for entry, value in column_of(state, words).items() if abs(value - float(words["value"])) < 1e-6
    ),
)
RATIO = Program(
    name="ratio",
    wordings=(
        "How many times as large as {second} is {first}{series}?",
        "{first} is how many times {second}{series}?",
    ),
    ask=_ratio,
    solve=lambda state, words: str(
        round(column_of(state, words)[words["first"]] / column_of(state, words)[words["second"]])
    ),
)
