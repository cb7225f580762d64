"""Programs on several measures of labelled quantities, and on entries that follow each other."""

from collections.abc import Mapping

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.quantity_words import (
    a_readable,
    are_apart,
    number,
    quantities,
    question_with,
    ranking,
    table_of,
    value_text,
)
from saccade.gym.state import SceneState


def _two_measures(asking: Asking, *, alike: bool) -> tuple[int, int] | None:
    state = quantities(asking)
    if len(state.measures) < 2 or (alike and not state.are_alike):
        return None
    first, second = asking.rng.permutation(len(state.measures))[:2]
    return int(first), int(second)


def _names(state: QuantityState, first: int, second: int) -> dict[str, str]:
    return {"one": state.measures[first].name, "two": state.measures[second].name, "relation": state.relation}


def _marks(entry: int, *measures: int) -> list[str]:
    found = [f"entry:{entry}"]
    for which in measures:
        found += [f"measure:{which}", f"value:{entry}:{which}"]
    return found


def _an_entry(asking: Asking) -> int:
    return int(asking.rng.integers(len(quantities(asking).entries)))


def _best_measure(asking: Asking) -> ProgramQuestion | None:
    state, entry = quantities(asking), _an_entry(asking)
    if len(state.measures) < 2 or not state.are_alike:
        return None
    order = sorted(range(len(state.measures)), key=lambda which: -state.measures[which].values[entry])
    first, second = (state.measures[which].values[entry] for which in order[:2])
    if not are_apart(state.measures[0], first, second):
        return None
    best = state.measures[order[0]]
    words = {"name": state.entries[entry], "relation": state.relation}
    return question_with(
        state, order[0], best.name, words=words, near=[state.measures[order[1]].name], evidence=_marks(entry, *order)
    )


def _gap(asking: Asking) -> ProgramQuestion | None:
    state, pair, entry = quantities(asking), _two_measures(asking, alike=True), _an_entry(asking)
    if pair is None or a_readable(asking) is None:
        return None
    a, b = pair
    if state.measures[a].values[entry] < state.measures[b].values[entry]:
        a, b = b, a
    high, low = state.measures[a].values[entry], state.measures[b].values[entry]
    if not are_apart(state.measures[a], high, low):
        return None
    words = {**_names(state, a, b), "name": state.entries[entry]}
    return number(
        state, a, high - low, seen=[entry], parts=2, words=words, near=[high, low], evidence=_marks(entry, a, b)
    )


def _widest(asking: Asking) -> ProgramQuestion | None:
    state, pair = quantities(asking), _two_measures(asking, alike=True)
    if pair is None:
        return None
    a, b = pair
    gaps = [abs(x - y) for x, y in zip(state.measures[a].values, state.measures[b].values)]
    order = sorted(range(len(gaps)), key=lambda index: -gaps[index])
    if not are_apart(state.measures[a], gaps[order[0]], gaps[order[1]]):
        return None
    best, rival = state.entries[order[0]], state.entries[order[1]]
    return question_with(state, a, best, words=_names(state, a, b), near=[rival], evidence=_marks(order[0], a, b))


def _wins(asking: Asking) -> ProgramQuestion | None:
    state, pair = quantities(asking), _two_measures(asking, alike=True)
    if pair is None:
        return None
    a, b = pair
    both = list(zip(state.measures[a].values, state.measures[b].values))
    if not all(are_apart(state.measures[a], x, y) for x, y in both):
        return None
    won = [index for index, (x, y) in enumerate(both) if x > y]
    marks = [mark for index in won for mark in _marks(index, a, b)]
    near = [str(len(both) - len(won)), str(len(won) + 1)]
    return question_with(state, a, str(len(won)), kind="integer", words=_names(state, a, b), near=near, evidence=marks)


def _entry_total(asking: Asking) -> ProgramQuestion | None:
    state, entry = quantities(asking), _an_entry(asking)
    if len(state.measures) < 2 or not state.are_alike or not state.can_add or a_readable(asking) is None:
        return None
    every = range(len(state.measures))
    parts = [state.measures[which].values[entry] for which in every]
    words = {"name": state.entries[entry]}
    return number(
        state, 0, sum(parts), seen=[], parts=len(parts), words=words, near=[max(parts)], evidence=_marks(entry, *every)
    )


def _follow(asking: Asking) -> ProgramQuestion | None:
    """The value in one measure of the entry that is first in another: two looks, the second led by the first."""
    state, pair = quantities(asking), _two_measures(asking, alike=False)
    if pair is None:
        return None
    a, b = pair
    order = ranking(state.measures[a])
    if order is None or state.measures[b].reading == "compared":
        return None
    best, rival = order[0], order[1]
    values = state.measures[b].values
    near = [values[rival], state.measures[a].values[best]]
    return number(state, b, values[best], seen=[], words=_names(state, a, b), near=near, evidence=_marks(best, a, b))


def _best_among(asking: Asking) -> ProgramQuestion | None:
    state, pair = quantities(asking), _two_measures(asking, alike=False)
    if pair is None:
        return None
    a, b = pair
    order = ranking(state.measures[b])
    if state.measures[a].reading == "compared" or order is None:
        return None
    values = state.measures[a].values
    levels = sorted({value + state.measures[a].step / 2 for value in values})
    splits = [(level, [index for index in order if values[index] > level]) for level in levels]
    splits = [(level, among) for level, among in splits if len(among) > 1 and among[0] != order[0]]
    if not splits:
        return None
    level, among = splits[int(asking.rng.integers(len(splits)))]
    words = {**_names(state, a, b), "level": f"{level:g}"}
    marks = _marks(among[0], a, b)
    near = [state.entries[order[0]], state.entries[among[1]]]
    return question_with(state, b, state.entries[among[0]], words=words, near=near, evidence=marks)


def _measure_count(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    count = len(state.measures)
    if count < 2:
        return None
    labels = [f"measure:{which}" for which in range(count)]
    near = [str(count + 1), str(count - 1)]
    return question_with(
        state, 0, str(count), kind="integer", words={"entry": state.entries[0]}, near=near, evidence=labels
    )


def _greatest_total(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    if len(state.measures) < 2 or not state.are_alike or not state.can_add:
        return None
    sums = [sum(measure.values) for measure in state.measures]
    order = sorted(range(len(sums)), key=lambda which: -sums[which])
    if sums[order[0]] - sums[order[1]] < state.measures[0].step * len(state.entries) / 2:
        return None
    marks = [f"measure:{order[0]}", *(f"value:{index}:{order[0]}" for index in range(len(state.entries)))]
    near = [state.measures[order[1]].name]
    return question_with(state, order[0], state.measures[order[0]].name, near=near, evidence=marks)


def _solve_best_among(state: SceneState, words: Mapping[str, str]) -> str:
    rows = {e: row for e, row in table_of(state).items() if row[words["one"]] > float(words["level"])}
    return max(rows, key=lambda entry: rows[entry][words["two"]])


def _solve_follow(state: SceneState, words: Mapping[str, str]) -> str:
    rows = table_of(state)
    return value_text(state, words, rows[max(rows, key=lambda entry: rows[entry][words["one"]])][words["two"]])


def _solve_gap(state: SceneState, words: Mapping[str, str]) -> str:
    row = table_of(state)[words["name"]]
    return value_text(state, words, row[words["one"]] - row[words["two"]])


def _solve_widest(state: SceneState, words: Mapping[str, str]) -> str:
    rows = table_of(state)
    return max(rows, key=lambda entry: abs(rows[entry][words["one"]] - rows[entry][words["two"]]))


BEST_MEASURE = Program(
    name="best_measure",
    wordings=("Which of the series is highest for {name}?", "For {name}, which series has the largest value?"),
    ask=_best_measure,
    solve=lambda state, words: max(
        table_of(state)[words["name"]], key=lambda measure: table_of(state)[words["name"]][measure]
    ),
)
GAP = Program(
    name="gap_of_entry",
    wordings=(
        "For {name}, by how much is {one} above {two}?",
        "How much larger is the value of {name} {relation} {one} than {relation} {two}?",
    ),
    ask=_gap,
    solve=_solve_gap,
)
WIDEST = Program(
    name="widest_gap",
    wordings=(
        "For which {noun} do {one} and {two} differ most?",
        "Which {noun} has the widest gap between {one} and {two}?",
    ),
    ask=_widest,
    solve=_solve_widest,
)
WINS = Program(
    name="count_wins",
    spread=6,
    wordings=("For how many {noun}s is {one} above {two}?", "Count the {noun}s where {one} is larger than {two}."),
    ask=_wins,
    solve=lambda state, words: str(sum(row[words["one"]] > row[words["two"]] for row in table_of(state).values())),
)
ENTRY_TOTAL = Program(
    name="total_of_entry",
    wordings=("What is the total of {name} over all series?", "What do the values of {name} add up to?"),
    ask=_entry_total,
    solve=lambda state, words: value_text(state, words, sum(table_of(state)[words["name"]].values())),
)
FOLLOW = Program(
    name="follow",
    wordings=(
        "Take the {noun} with the highest value {relation} {one}. How high is its value {relation} {two}?",
        "Find the {noun} with the highest value {relation} {one}. What is its value {relation} {two}?",
    ),
    ask=_follow,
    solve=_solve_follow,
)
BEST_AMONG = Program(
    name="best_among",
    wordings=(
        "Among the {noun}s with a value above {level} {relation} {one}, which has the highest value {relation} {two}?",
        "Which {noun} has the highest value {relation} {two}, of those above {level} {relation} {one}?",
    ),
    ask=_best_among,
    solve=_solve_best_among,
)
MEASURE_COUNT = Program(
    name="series_count",
    wordings=("How many values does each {noun} have?", "How many values are shown for {entry}?"),
    ask=_measure_count,
    solve=lambda state, words: str(len(table_of(state)[words["entry"]])),
)
GREATEST_TOTAL = Program(
    name="greatest_total",
    wordings=("Which series has the largest total?", "Adding up each series, which one comes out highest?"),
    ask=_greatest_total,
)
