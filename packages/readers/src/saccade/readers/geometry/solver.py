"""Solver of a geometry problem: figures first, then the theorems that explain them, or the contradiction in it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from saccade.errors import ToolError
from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.configuration import Place
from saccade.readers.geometry.derivation import derive
from saccade.readers.geometry.figure import Figure, figure_of
from saccade.readers.geometry.knowledge import value_text
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.numeric import Solutions, Verdict, find_figures
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Call, Node, Number, written
from saccade.readers.geometry.values import names_of


def contradiction_text(parts: Mapping[str, str], broken: Sequence[str]) -> str:
    """The reason why a problem in CDL has no figure, in CDL; ``broken`` are logic forms that the nearest one breaks."""
    said = _forms_and_statements(parts)
    for (one, first), (other, second) in combinations(said, 2):
        if why := _why_not_both(first, second):
            return f"the problem contradicts itself: {one} and {other} cannot both hold, because {why}"
    origins = {written(statement): text for text, statement in reversed(said)}
    named = list(dict.fromkeys(origins.get(form, form) for form in broken))
    if not named:
        return (
            "the problem contradicts itself: in all figures that fulfil its statements, points fall together or shapes "
            "have no area; check the order of corners and which points lie between which"
        )
    return (
        f"the problem contradicts itself: no figure fulfils all of it, and the nearest one breaks {', '.join(named)}; "
        "check their numbers, the order of corners, and which point lies between which"
    )


def _forms_and_statements(parts: Mapping[str, str]) -> list[tuple[str, Call]]:
    """Every logic form with the statement in CDL that says it."""
    return [
        (written(node), statement)
        for what, text in parts.items()
        for node in parse_statements(text, what)
        for statement in statements_of(written(node), what)
    ]


def _why_not_both(first: Call, second: Call) -> str:
    values, others = dict(_values(first)), dict(_values(second))
    for quantity in values.keys() & others.keys():
        if values[quantity] != others[quantity]:
            return f"they give {quantity} two values"
    if first.name == second.name == "Counterclockwise":
        one, other = names_of(first), names_of(second)
        if len(one) == len(other) and _from_least(one) == _from_least(other[::-1]):
            return f"angles and shapes go round counterclockwise, and {''.join(one)} does so or {''.join(other)}"
    if first.name == second.name == "PointLiesOnLine":
        point, line = names_of(first)[0], set(names_of(first.args[1]))
        other_point, other_line = names_of(second)[0], set(names_of(second.args[1]))
        if point != other_point and line | {point} == other_line | {other_point}:
            return f"either {point} or {other_point} is the middle one of three points"
    return ""


def _values(said: Call) -> Iterator[tuple[str, Node]]:
    """The quantity that a statement gives a number."""
    if said.name != "Equals":
        return
    for quantity, value in (said.args, said.args[::-1]):
        if isinstance(value, Number) and isinstance(quantity, Call):
            inner = quantity.args[0] if quantity.args else quantity
            is_line = isinstance(inner, Call) and inner.name == "Line"
            yield (f"the length of {''.join(sorted(names_of(inner)))}" if is_line else written(quantity)), value


def _from_least(names: tuple[str, ...]) -> tuple[str, ...]:
    start = names.index(min(names))
    return names[start:] + names[:start]


MAX_GOALS = 3
MAX_STEPS = 40
MAX_STEP_CHARS = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class SolverAnswer:
    """The answer to one ``Find``."""

    goal: str
    """As a logic form."""
    verdict: Verdict
    value: float | None
    """None unless determined."""
    exact: str
    """The value as an expression, from the derivation; empty where there is none."""
    steps: tuple[str, ...]
    """A sentence each; empty where the theorems do not reach the goal."""
    values: tuple[float, ...]
    """Different values that were found; the one value when determined."""
    broken: tuple[str, ...]
    """Statements that contradict the others, when inconsistent."""
    is_rounded: bool
    """The statements hold up to the rounding of their numbers only, and so does the value."""

    @property
    def text(self) -> str:
        """The answer and its derivation, as a model reads them."""
        if self.verdict == "inconsistent":
            return _contradiction(self.broken)
        if self.value is None:
            found = ", ".join(f"{value:.6g}" for value in self.values)
            return (
                f"{self.goal}: not determined. Figures that fulfil all statements give different values, for example "
                f"{found}. State more of what the diagram shows: lengths, angles, which points lie on which lines."
            )
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps[:MAX_STEPS], start=1)]
        if not self.steps:
            lines.append("(found numerically; no derivation by theorems was found)")
        if self.is_rounded:
            lines.append("(the given numbers fit together only up to rounding)")
        decimal = f"{self.value:.6g}"
        answer = self.exact or decimal
        about = f" ≈ {decimal}" if self.exact and self.exact != decimal else ""
        return "\n".join([*lines, f"{self.goal} = {answer}{about}"])


def solve(
    statements: Sequence[Call], places: Mapping[str, Place] | None = None, what: str = "the text"
) -> list[SolverAnswer]:
    """The answer to every ``Find``; ``ToolError`` when a statement is wrong, nothing is asked or too much is."""
    figure = figure_of(statements, what)
    if not figure.goals:
        raise ToolError(f"{what} asks for nothing; add a goal such as Find(x) or Find(LengthOf(Line(A,B)))")
    if len(figure.goals) > MAX_GOALS:
        raise ToolError(f"{what} asks for {len(figure.goals)} values; ask for at most {MAX_GOALS} at a time")
    if places and (unknown := sorted(set(places) - set(figure.points))):
        raise ToolError(
            f"{what} names no point {', '.join(unknown[:5])}; give places of points that the statements name"
        )
    solutions = find_figures(figure, places)
    if solutions.verdict == "inconsistent":
        return [_answer(goal, (), solutions) for goal in figure.goals]
    return [_answer_with_proof(figure, solutions, goal, found) for goal, found in zip(figure.goals, solutions.values)]


def _answer_with_proof(figure: Figure, solutions: Solutions, goal: Node, values: tuple[float, ...]) -> SolverAnswer:
    derivation = derive(figure, solutions, goal) if _is_one(values) else None
    if derivation is None:
        return _answer(goal, values, solutions)
    exact = "" if derivation.value.has(sympy.Float) else value_text(derivation.value)
    steps = tuple(step if len(step) <= MAX_STEP_CHARS else f"{step[:MAX_STEP_CHARS]}…" for step in derivation.steps)
    return replace(_answer(goal, values, solutions), exact=exact, steps=steps)


def _answer(goal: Node, values: tuple[float, ...], solutions: Solutions) -> SolverAnswer:
    verdict: Verdict = "determined" if _is_one(values) else "not determined"
    return SolverAnswer(
        goal=written(goal),
        verdict="inconsistent" if solutions.verdict == "inconsistent" else verdict,
        value=_tidy(values[0]) if _is_one(values) else None,
        exact="",
        steps=(),
        values=tuple(value for value in values if math.isfinite(value)),
        broken=solutions.broken,
        is_rounded=solutions.is_rounded,
    )


def _is_one(values: tuple[float, ...]) -> bool:
    return len(values) == 1 and math.isfinite(values[0])


def _tidy(value: float) -> float:
    """The value rounded to eight digits, which drops the noise of the search."""
    return float(f"{value:.8g}") + 0.0


def _contradiction(broken: tuple[str, ...]) -> str:
    if not broken:
        return (
            "no figure was found: in all that fulfil the statements, points fall together or shapes have no area. "
            "Check the order of corners and which points lie between which."
        )
    return (
        "no figure was found that fulfils all statements. The nearest one breaks " + ", ".join(broken) + ". Check "
        "these against the diagram: their numbers, the order of corners, and which point lies between which."
    )
