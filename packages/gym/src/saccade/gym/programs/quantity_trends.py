"""Programs on the order in which labelled quantities stand: rises, the first above a level, what comes next."""

import itertools
import math
from collections.abc import Mapping

from saccade.gym.grammars.quantities import counts_of_entries
from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.choosing import chosen
from saccade.gym.programs.quantity_words import (
    a_measure,
    a_readable,
    are_apart,
    column_of,
    quantities,
    question_with,
    thresholds,
)
from saccade.gym.state import SceneState


def _rises(asking: Asking, entries: tuple[int, int, int]) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    measure = state.measures[which]
    steps = list(zip(measure.values, measure.values[1:]))
    if not state.is_ordered or not all(are_apart(measure, x, y) for x, y in steps):
        return None
    rising = [index for index, (x, y) in enumerate(steps) if y > x]
    least, most = counts_of_entries(asking.levels, entries)
    # The same answers whatever number of entries this state happens to have.
    if len(rising) != asking.wanted(range(_usual_rises(least - 1).start, _usual_rises(most - 1).stop)):
        return None
    seen = sorted({index for rise in rising for index in (rise, rise + 1)})
    near = [str(len(steps) - len(rising)), str(len(rising) + 1)]
    return question_with(state, which, str(len(rising)), kind="integer", seen=seen, near=near)


def _usual_rises(steps: int) -> range:
    """How many of so many steps rise, where that is not rare: about half, of random values within 2.6 deviations."""
    reach = 2.6 * ((steps + 1) / 12) ** 0.5
    return range(math.ceil(steps / 2 - reach), math.floor(steps / 2 + reach) + 1)


def _steepest(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_measure(asking)
    measure = state.measures[which]
    if not state.is_ordered:
        return None
    rises = [y - x for x, y in zip(measure.values, measure.values[1:])]
    order = sorted(range(len(rises)), key=lambda index: -rises[index])
    if len(rises) < 2 or rises[order[0]] <= 0 or not are_apart(measure, rises[order[0]], rises[order[1]]):
        return None
    at = order[0]
    near = [state.entries[at], state.entries[order[1] + 1]]
    return question_with(state, which, state.entries[at + 1], seen=[at, at + 1], near=near)


def _first_above(asking: Asking) -> ProgramQuestion | None:
    state, which = quantities(asking), a_readable(asking)
    if which is None or not state.is_ordered:
        return None
    measure = state.measures[which]
    first = asking.wanted(range(len(measure.values)))
    before = max(measure.values[:first], default=-math.inf)
    levels = [level for level in thresholds(measure) if before < level < measure.values[first]]
    if not levels:
        return None
    level = chosen(asking.rng, levels)
    above = [index for index, value in enumerate(measure.values) if value > level]
    words = {"level": f"{level:g}"}
    near = [state.entries[above[-1]]]
    return question_with(state, which, state.entries[above[0]], seen=range(above[0] + 1), words=words, near=near)


def _next(asking: Asking) -> ProgramQuestion | None:
    state = quantities(asking)
    if state.is_ordered:
        return None
    at = int(asking.rng.integers(len(state.entries) - 1))
    words = {"name": state.entries[at]}
    near = [state.entries[at - 1]] if at else []
    return question_with(
        state, 0, state.entries[at + 1], words=words, near=near, evidence=[f"entry:{at}", f"entry:{at + 1}"]
    )


def _solve_rises(state: SceneState, words: Mapping[str, str]) -> str:
    values = list(column_of(state, words).values())
    return str(sum(later > sooner for sooner, later in itertools.pairwise(values)))


def rises(entries: tuple[int, int, int]) -> Program:
    """Rises of charts that have so many entries at the levels 0, 0.5 and 1."""
    return Program(
        name="count_rises",
        wordings=(
            "How many times does the value rise from one {noun} to the next{series}?",
            "Count the rises from one {noun} to the next{series}.",
        ),
        ask=lambda asking: _rises(asking, entries),
        solve=_solve_rises,
    )


STEEPEST = Program(
    name="steepest_rise",
    wordings=(
        "Which {noun} has the largest rise over the {noun} before{series}?",
        "At which {noun} does the value jump up most from the one before{series}?",
    ),
    ask=_steepest,
)
FIRST_ABOVE = Program(
    name="first_above",
    wordings=(
        "Which is the first {noun} above {level}{series}?",
        "In which {noun} does the value first exceed {level}{series}?",
    ),
    ask=_first_above,
    solve=lambda state, words: next(
        entry for entry, value in column_of(state, words).items() if value > float(words["level"])
    ),
)
NEXT = Program(
    name="next_entry",
    wordings=("Which {noun} comes right after {name}?", "Reading on from {name}, which {noun} is next?"),
    ask=_next,
)
