"""Forward chaining: equations of theorems are gathered until the goal's value follows, and written as steps.

Theorems only add equations. An equation is accepted when it is true of every figure that was found numerically, and a
value when it is the figures'. Cheap theorems are tried first; single equations with one unknown before systems. What
did not matter for the goal is left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.readers.geometry.exact import linear_findings, pair_findings, solve_for
from saccade.readers.geometry.facts import Equation, facts_of
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.given import given_equations
from saccade.readers.geometry.knowledge import Finding, Knowledge, derivation_steps
from saccade.readers.geometry.numeric import Solutions
from saccade.readers.geometry.plain import is_quantity, quantities
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Call, Name, Node, Operation
from saccade.readers.geometry.theorems_angles import angle_theorems, isosceles_theorems
from saccade.readers.geometry.theorems_areas import area_theorems
from saccade.readers.geometry.theorems_circles import circle_theorems, known_circle_theorems
from saccade.readers.geometry.theorems_triangles import (
    bisector_theorems,
    law_theorems,
    right_triangle_theorems,
    segment_theorems,
    similar_theorems,
)
from saccade.readers.geometry.values import value_of

MAX_EQUATIONS = 1500
MAX_FINDINGS = 220
MAX_ROUNDS = 30
COSTS = (1, 2, 3, 4, 5, 6, 7)
_GOAL = Name("answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """A goal's exact value and the sentences that lead to it."""

    value: sympy.Expr
    steps: tuple[str, ...]


def derive(figure: Figure, solutions: Solutions, goal: Node) -> Derivation | None:
    """How the goal follows from the statements; None when these theorems do not reach it."""
    chain = _Chain(figure, solutions)
    return chain.towards(goal)


class _Chain:
    """The equations and findings of one goal."""

    def __init__(self, figure: Figure, solutions: Solutions) -> None:
        self._facts = facts_of(figure, solutions.state)
        self._tolerance = 1e-2 if solutions.is_rounded else 1e-6
        self._known = Knowledge()
        self._equations: list[Equation] = []
        # In their order, not as sets: steps are written in it, and must be the same in every process.
        self._unknowns: list[tuple[Node, ...]] = []
        self._seen: set[tuple[Node, Node]] = set()
        self._near: dict[Node, float | None] = {}

    def towards(self, goal: Node) -> Derivation | None:
        """Rounds of theorems and solving until the goal is reached or nothing new comes."""
        wanted = self._facts.canonical(goal)
        self._accept([Equation(theorem="asked", because="", left=_GOAL, right=wanted, cost=0)])
        self._near[_GOAL] = float(np.median(value_of(goal, self._facts.state)))
        self._accept(self._static())
        level = 0
        for _ in range(MAX_ROUNDS):
            before = len(self._equations)
            self._accept(self._dynamic())
            has_moved = self._propagate(COSTS[level]) or len(self._equations) > before
            if not has_moved:
                has_moved = self._solve_linear(COSTS[level])
            if not has_moved:
                has_moved = self._solve_by_definitions(COSTS[level])
            if not has_moved and level == len(COSTS) - 1:
                has_moved = self._solve_pairs()
            if _GOAL in self._known.findings:
                return Derivation(
                    value=self._known.findings[_GOAL].value, steps=tuple(derivation_steps(self._known, _GOAL, wanted))
                )
            if not has_moved:
                level += 1
                if level == len(COSTS):
                    return None
        return None

    def _static(self) -> Iterator[Equation]:
        yield from given_equations(self._facts)
        yield from segment_theorems(self._facts)
        yield from angle_theorems(self._facts)
        yield from circle_theorems(self._facts)
        yield from law_theorems(self._facts)

    def _dynamic(self) -> Iterator[Equation]:
        for theorems in (
            isosceles_theorems,
            right_triangle_theorems,
            similar_theorems,
            bisector_theorems,
            known_circle_theorems,
            area_theorems,
        ):
            yield from theorems(self._facts, self._known)

    def _accept(self, equations: Iterable[Equation]) -> None:
        for equation in equations:
            key = (equation.left, equation.right)
            if key in self._seen or len(self._equations) >= MAX_EQUATIONS or equation.left == equation.right:
                continue
            self._seen.add(key)
            names = tuple(dict.fromkeys([*quantities(equation.left), *quantities(equation.right)]))
            if _GOAL not in names and not self._facts.holds(*key, tolerance=self._tolerance):
                continue
            self._equations.append(equation)
            self._unknowns.append(names)
            self._known.note(equation)

    def _values(self) -> dict[Node, sympy.Expr]:
        return {node: finding.value for node, finding in self._known.findings.items()}

    def _numeric(self, quantity: Node) -> float | None:
        """The quantity's value where all figures agree about it."""
        if quantity not in self._near:
            with np.errstate(all="ignore"):
                values = value_of(quantity, self._facts.state)
            spread = float(np.ptp(values)) if np.isfinite(values).all() else np.inf
            middle = float(np.median(values))
            self._near[quantity] = middle if spread <= 100 * self._tolerance * (1e-3 + abs(middle)) else None
        return self._near[quantity]

    def _propagate(self, cost: int) -> bool:
        """Solves equations with one unknown until there are none; whether any was solved.

        In waves: each uses what was known before it, so that a value is found by the fewest steps. Cheap ones first.
        """
        order = sorted(range(len(self._equations)), key=lambda i: self._equations[i].cost)
        order = [index for index in order if self._equations[index].cost <= cost]
        has_moved, is_moving = False, True
        while is_moving and _GOAL not in self._known.findings and len(self._known.findings) < MAX_FINDINGS:
            is_moving = False
            values = self._values()
            for index in order:
                missing = [name for name in self._unknowns[index] if name not in values]
                if len(missing) == 1 and missing[0] not in self._known.findings:
                    is_moving |= self._solve_one(index, missing[0], values)
                if is_moving and self._equations[index].cost > 1:
                    break
            has_moved |= is_moving
        return has_moved

    def _solve_one(self, index: int, unknown: Node, values: Mapping[Node, sympy.Expr]) -> bool:
        equation, near = self._equations[index], self._numeric(unknown)
        value = None if near is None else solve_for(equation.left, equation.right, unknown, values, near)
        uses = tuple(name for name in self._unknowns[index] if name != unknown)
        return value is not None and self._find(unknown, value, (equation,), uses)

    def _find(self, quantity: Node, value: sympy.Expr, equations: tuple[Equation, ...], uses: tuple[Node, ...]) -> bool:
        near = self._numeric(quantity)
        if near is None or abs(float(value) - near) > max(self._tolerance, 1e-6) * (1e-3 + abs(near)):
            return False
        if quantity in self._known.findings:
            return False
        self._known.findings[quantity] = Finding(quantity=quantity, value=value, equations=equations, uses=uses)
        return True

    def _solve_linear(self, cost: int) -> bool:
        """Finds what linear equations fix together, of the fewest equations; whether there was anything."""
        equations = [one for one in self._equations if one.cost <= cost]
        for unknown, fraction, used in linear_findings(equations, self._values()):
            value = sympy.Rational(fraction.numerator, fraction.denominator)
            if self._find(unknown, value, used, self._others(used, unknown)):
                return True
        return False

    def _solve_by_definitions(self, cost: int) -> bool:
        """Finds a letter when an equation's quantities are all given by it; whether there was any."""
        values = self._values()
        defined = {
            one.left: one
            for one in self._equations
            if one.theorem == "given"
            and one.left not in values
            and len(names := set(quantities(one.right)) - set(values)) == 1
            and all(isinstance(name, Name) for name in names)
        }
        for index, equation in enumerate(self._equations):
            missing = [name for name in self._unknowns[index] if name not in values]
            used = [defined[name] for name in missing if name in defined]
            letters = {name for one in used for name in quantities(one.right) if name not in values}
            letters |= {name for name in missing if name not in defined}
            if equation.cost > cost or not used or len(letters) != 1 or equation in used:
                continue
            (letter,) = letters
            near = self._numeric(letter)
            spelled = {one.left: one.right for one in used}
            sides = [_replaced(side, spelled) for side in (equation.left, equation.right)]
            value = None if near is None else solve_for(sides[0], sides[1], letter, values, near)
            together = (*used, equation)
            if value is not None and self._find(letter, value, together, self._others(together, letter)):
                return True
        return False

    def _solve_pairs(self) -> bool:
        """Finds an unknown of two equations with two unknowns; whether there was any."""
        values = self._values()
        missing = [frozenset(name for name in names if name not in values) for names in self._unknowns]
        pairs = sorted({name for names in missing if len(names) == 2 for name in names}, key=str)
        near = {name: found for name in pairs if (found := self._numeric(name)) is not None}
        for unknown, value, used in pair_findings(self._equations, missing, values, near):
            if self._find(unknown, value, used, self._others(used, unknown)):
                return True
        return False

    def _others(self, equations: Sequence[Equation], unknown: Node) -> tuple[Node, ...]:
        names = dict.fromkeys(name for one in equations for side in (one.left, one.right) for name in quantities(side))
        return tuple(name for name in names if name != unknown and name in self._known.findings)


def _replaced(node: Node, spelled: Mapping[Node, Node]) -> Node:
    if node in spelled:
        return spelled[node]
    if isinstance(node, Operation):
        return Operation(node.sign, tuple(_replaced(arg, spelled) for arg in node.args))
    if isinstance(node, Call) and not is_quantity(node):
        return Call(node.name, tuple(_replaced(arg, spelled) for arg in node.args))
    return node
