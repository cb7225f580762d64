"""Programs that calculate with the values of a chart or a table: means, shares, changes, what if."""

from collections.abc import Callable, Mapping
from statistics import mean, median

from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.quantity_words import a_readable, column_of, quantities, question_with, two_entries
from saccade.gym.state import SceneState

ROUNDED = 0.06
"""An answer that is rounded to one decimal may be wrong by a little more than half of it."""
HOW = " Give one decimal."
Words = Mapping[str, str]
Calculate = Callable[[Mapping[str, float], str, str], tuple[float, tuple[float, ...]] | None]
"""From values by entry and the names of two entries to the answer and slips; None where it is not sensible."""


def one_decimal(value: float) -> str:
    """Rounded, without a zero at its end."""
    return f"{round(value + 1e-9, 1):g}"


def _program(
    name: str, calculate: Calculate, *wordings: str, entries: int, sees_all: bool = True, is_whole: bool = False
) -> Program:
    """A question on one measure that speaks of so many entries; the others are evidence where all count."""

    def solve(state: SceneState, words: Words) -> str:
        found = calculate(column_of(state, words), words.get("first", ""), words.get("second", ""))
        assert found is not None
        return one_decimal(found[0])

    def ask(asking: Asking) -> ProgramQuestion | None:
        state, which = quantities(asking), a_readable(asking)
        if which is None or not state.can_add:
            return None
        pair = tuple(sorted(two_entries(asking))) if state.is_ordered else two_entries(asking)
        names = [state.entries[index] for index in pair]
        measure = state.measures[which]
        found = calculate(dict(zip(state.entries, measure.values)), *names)
        if found is None or abs(found[0]) < 1:
            return None
        said = dict(zip(("first", "second"), names[:entries]))
        seen = range(len(state.entries)) if sees_all else pair[:entries]
        relative = round(ROUNDED / abs(found[0]), 5)
        near = [one_decimal(slip) for slip in found[1] if abs(slip - found[0]) > 2 * ROUNDED]
        answer = one_decimal(found[0])
        return question_with(state, which, answer, kind="number", seen=seen, words=said, near=near, relative=relative)

    return Program(
        name=name, wordings=tuple(wording + HOW * (not is_whole) for wording in wordings), ask=ask, solve=solve
    )


def _mean(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]]:
    every = list(values.values())
    return mean(every), (median(every), sum(every))


def _median(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]] | None:
    every = list(values.values())
    return median(every), (mean(every), every[len(every) // 2])


def _share(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]]:
    total = sum(values.values())
    return 100 * values[first] / total, (100 * values[first] / (total - values[first]), values[first])


def _change(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]] | None:
    start, end = values[first], values[second]
    return None if end <= start else (100 * (end - start) / start, (100 * (end - start) / end, end - start))


def _fall(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]] | None:
    start, end = values[first], values[second]
    return None if end >= start else (100 * (start - end) / start, (100 * (start - end) / end, start - end))


def _times(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]] | None:
    one, other = values[first], values[second]
    return None if one < 1.2 * other else (one / other, (other / one, one - other))


def _without(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]]:
    total = sum(values.values())
    return total - values[first], (total, total + values[first])


def _above_mean(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]] | None:
    average = mean(values.values())
    gap = values[first] - average
    return None if gap < 1 else (gap, (average, values[first] - median(values.values())))


def _if_doubled(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]]:
    total = sum(values.values())
    return total + values[first], (total, 2 * total)


def _mean_of_two(values: Mapping[str, float], first: str, second: str) -> tuple[float, tuple[float, ...]]:
    return (values[first] + values[second]) / 2, (values[first] + values[second], abs(values[first] - values[second]))


ARITHMETIC_PROGRAMS = (
    _program(
        "mean",
        _mean,
        "What is the mean of all values{series}?",
        "What is the average over every {noun}{series}?",
        entries=0,
    ),
    _program(
        "median",
        _median,
        "What is the median of the values{series}?",
        "Sort the values{series}: what is their median?",
        entries=0,
    ),
    _program(
        "share",
        _share,
        "What percentage of the total{series} does {first} make up?",
        "How many per cent of the sum{series} belong to {first}?",
        entries=1,
    ),
    _program(
        "rise",
        _change,
        "By how many per cent is {second} higher than {first}{series}?",
        "Going from {first} to {second}{series}, what is the increase in per cent?",
        entries=2,
        sees_all=False,
    ),
    _program(
        "fall",
        _fall,
        "By how many per cent is {second} lower than {first}{series}?",
        "Going from {first} to {second}{series}, what is the decrease in per cent?",
        entries=2,
        sees_all=False,
    ),
    _program(
        "times",
        _times,
        "How many times as large as {second} is {first}{series}?",
        "Divide the value of {first} by that of {second}{series}. What do you get?",
        entries=2,
        sees_all=False,
    ),
    _program(
        "without",
        _without,
        "What is the sum of all values{series} without {first}?",
        "Leave {first} out: what do the others add up to{series}?",
        entries=1,
        is_whole=True,
    ),
    _program(
        "above_mean",
        _above_mean,
        "How far is {first} above the average{series}?",
        "By how much does {first} exceed the mean of all values{series}?",
        entries=1,
    ),
    _program(
        "if_doubled",
        _if_doubled,
        "If {first} doubled and nothing else changed, what would the total{series} be?",
        "Suppose the value of {first} were twice as large. What would all values{series} add up to?",
        entries=1,
        is_whole=True,
    ),
    _program(
        "mean_of_two",
        _mean_of_two,
        "What is the average of {first} and {second}{series}?",
        "What is the mean of the two values of {first} and {second}{series}?",
        entries=2,
        sees_all=False,
    ),
)
