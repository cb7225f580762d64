"""A problem from statements to an answer: figures first, then the theorems that explain what they show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.errors import ToolError
from saccade.readers.geometry.derivation import derive
from saccade.readers.geometry.diagram import Place
from saccade.readers.geometry.figure import Figure, figure_of
from saccade.readers.geometry.numeric import Solutions, Verdict, find_figures
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.telling import shown
from saccade.readers.geometry.terms import Call, Node
from saccade.readers.geometry.writing import written

MAX_GOALS = 3
MAX_STEPS = 40
MAX_STEP_CHARS = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class SolverAnswer:
    """What a ``Find`` asks for."""

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
        """The answer and how it comes about, for a model to read."""
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
    return [_explained(figure, solutions, goal, found) for goal, found in zip(figure.goals, solutions.values)]


def _explained(figure: Figure, solutions: Solutions, goal: Node, values: tuple[float, ...]) -> SolverAnswer:
    derivation = derive(figure, solutions, goal) if _is_one(values) else None
    if derivation is None:
        return _answer(goal, values, solutions)
    exact = "" if derivation.value.has(sympy.Float) else shown(derivation.value)
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
    """Without the noise of the search."""
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
