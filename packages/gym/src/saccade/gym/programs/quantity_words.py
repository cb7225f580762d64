"""What programs on quantities share: which values a look tells apart; words, evidence and tolerance of a question."""

import itertools
from collections.abc import Mapping, Sequence

from saccade.gym.grammars.quantities import Measure, QuantityState
from saccade.gym.program import Asking, ProgramQuestion
from saccade.gym.state import SceneState, as_state
from saccade.types import AnswerKind

LEAST_SHARE = 0.08
"""Values that only size or shade tells are compared where they differ by so much of the largest."""


def quantities(asking: Asking) -> QuantityState:
    """The state that is asked about."""
    return as_state(asking.state, QuantityState)


def table_of(state: SceneState) -> dict[str, dict[str, float]]:
    """Values by entry and measure, for second solvers."""
    known = as_state(state, QuantityState)
    return {
        entry: {measure.name: measure.values[index] for measure in known.measures}
        for index, entry in enumerate(known.entries)
    }


def column_of(state: SceneState, words: Mapping[str, str]) -> dict[str, float]:
    """Values by entry of the measure that the words name, for second solvers."""
    return {entry: row[words["measure"]] for entry, row in table_of(state).items()}


def value_text(state: SceneState, words: Mapping[str, str], value: float) -> str:
    """A number as the measure that the words name prints it, for second solvers."""
    measures = as_state(state, QuantityState).measures
    return number_text(next(one for one in measures if one.name == words["measure"]), value)


def a_measure(asking: Asking) -> int:
    """Any measure."""
    return int(asking.rng.integers(len(quantities(asking).measures)))


def a_readable(asking: Asking) -> int | None:
    """Any measure whose values can be read as numbers; None where there is none."""
    found = [i for i, measure in enumerate(quantities(asking).measures) if measure.reading != "compared"]
    return found[int(asking.rng.integers(len(found)))] if found else None


def two_entries(asking: Asking) -> tuple[int, int]:
    """Two different entries."""
    first, second = asking.rng.permutation(len(quantities(asking).entries))[:2]
    return int(first), int(second)


def are_apart(measure: Measure, first: float, second: float) -> bool:
    """Whether the picture tells that two values differ, and which is larger."""
    if measure.reading == "compared":
        return abs(first - second) >= LEAST_SHARE * max(abs(value) for value in measure.values)
    return abs(first - second) >= measure.step


def ranking(measure: Measure) -> list[int] | None:
    """Entries by value, the highest first; None where two are too near to each other."""
    order = sorted(range(len(measure.values)), key=lambda index: -measure.values[index])
    values = [measure.values[index] for index in order]
    return order if all(are_apart(measure, a, b) for a, b in itertools.pairwise(values)) else None


def thresholds(measure: Measure) -> list[float]:
    """Numbers between neighbouring values that are apart, the lowest first: some are above it, some below."""
    values = sorted(set(measure.values))
    gaps = [(a, b) for a, b in itertools.pairwise(values) if are_apart(measure, a, b)]
    return [_between(measure, low, high) for low, high in gaps]


def _between(measure: Measure, low: float, high: float) -> float:
    middle = (low + high) / 2
    return round(middle, measure.decimals) if measure.decimals or middle == int(middle) else round(middle, 1)


def tolerance(measure: Measure, answer: float, parts: int = 1) -> float:
    """The relative tolerance of a number made of so many values that were read."""
    if measure.reading == "printed" or answer == 0:
        return 0.0
    return round(float(0.49 * measure.step * parts**0.5 / abs(answer)), 4)


def number_text(measure: Measure, value: float) -> str:
    """A number as the picture would print it."""
    if measure.decimals:
        return f"{value:.{measure.decimals}f}"
    return str(round(value)) if abs(value - round(value)) < 1e-9 else f"{value:.1f}"


def series(state: QuantityState, which: int) -> str:
    """How a question says the measure: nothing where there is one."""
    return f" {state.relation} {state.measures[which].name}" if len(state.measures) > 1 else ""


def question_with(
    state: QuantityState,
    which: int,
    answer: str,
    *,
    kind: AnswerKind = "exact",
    seen: Sequence[int] = (),
    words: Mapping[str, str] | None = None,
    near: Sequence[str] = (),
    relative: float = 0.0,
    evidence: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> ProgramQuestion:
    """A question on one measure; ``seen`` are the entries that the answer depends on, in order."""
    measure = state.measures[which]
    looked = [] if len(state.measures) == 1 else [f"measure:{which}"]
    for index in seen:
        looked += [f"entry:{index}", f"value:{index}:{which}"]
    said = {"noun": state.noun, "measure": measure.name, "series": series(state, which), "unit": measure.unit}
    if kind in ("number", "integer"):
        kind = "integer" if relative == 0.0 and answer.lstrip("-").isdigit() else "number"
    return ProgramQuestion(
        answer=answer,
        words={**said, **(words or {})},
        kind=kind,
        tolerance=relative,
        choices=tuple(choices),
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        evidence=tuple(dict.fromkeys((*looked, *evidence))),
        conclusion=answer,
    )


def number(
    state: QuantityState,
    which: int,
    value: float,
    *,
    seen: Sequence[int],
    parts: int = 1,
    words: Mapping[str, str] | None = None,
    near: Sequence[float] = (),
    evidence: Sequence[str] = (),
) -> ProgramQuestion:
    """A question whose answer is a number made of so many values."""
    measure = state.measures[which]
    relative = tolerance(measure, value, parts)
    wrong = [other for other in near if abs(other - value) > relative * abs(value) + 1e-6]
    return question_with(
        state,
        which,
        number_text(measure, value),
        kind="number",
        seen=seen,
        words=words,
        near=[number_text(measure, other) for other in wrong],
        relative=relative,
        evidence=evidence,
    )
