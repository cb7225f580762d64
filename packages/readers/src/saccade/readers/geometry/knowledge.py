"""Findings of a derivation: values of quantities, how each was found, and the steps to them as sentences."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from saccade.readers.geometry.exact import shortened
from saccade.readers.geometry.facts import Equation
from saccade.readers.geometry.plain import is_quantity, plain
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A quantity's value, and the equations and values that it comes from."""

    quantity: Node
    value: sympy.Expr
    equations: tuple[Equation, ...]
    """More than one when they had to be solved together."""
    uses: tuple[Node, ...]
    """Quantities whose values went in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why two things are equal."""

    needs: tuple[Node, ...] = ()
    support: tuple[Equation, ...] = ()

    def __add__(self, other: "Reason") -> "Reason":
        return Reason(needs=self.needs + other.needs, support=self.support + other.support)


@dataclass(kw_only=True, slots=True)
class Knowledge:
    """All findings so far, and the quantities that are known to be equal."""

    findings: dict[Node, Finding] = field(default_factory=dict)
    same: dict[Node, list[tuple[Node, Equation]]] = field(default_factory=dict)
    """Quantities that an equation makes equal."""

    def value(self, quantity: Node) -> sympy.Expr | None:
        """The value, where it is known."""
        finding = self.findings.get(quantity)
        return finding.value if finding else None

    def note(self, equation: Equation) -> None:
        """Keeps the equation if it only says that two quantities are equal."""
        left, right = equation.left, equation.right
        if is_quantity(left) and is_quantity(right):
            self.same.setdefault(left, []).append((right, equation))
            self.same.setdefault(right, []).append((left, equation))

    def why_equal(self, first: Node, second: Node) -> Reason | None:
        """Why two quantities are equal; None where that is not known."""
        if first == second:
            return Reason()
        path = self._path(first, second)
        if path is not None:
            return Reason(support=path)
        one, other = self.value(first), self.value(second)
        if one is not None and other is not None and abs(float(one - other)) < 1e-9 * (1 + abs(float(one))):
            return Reason(needs=(first, second))
        return None

    def _path(self, first: Node, second: Node) -> tuple[Equation, ...] | None:
        """The shortest chain of equations from one quantity to another."""
        if first not in self.same or second not in self.same:
            return None
        reached: dict[Node, tuple[Node, Equation] | None] = {first: None}
        waiting = deque([first])
        while waiting:
            here = waiting.popleft()
            if here == second:
                chain = []
                while (step := reached[here]) is not None:
                    here, equation = step
                    chain.append(equation)
                return tuple(reversed(chain))
            for there, equation in self.same[here]:
                if there not in reached:
                    reached[there] = (here, equation)
                    waiting.append(there)
        return None


Stated = dict[Node | tuple[Node, Node], None]
"""Quantities and equations that were stated."""


def derivation_steps(known: Knowledge, goal: Node, wanted: Node) -> Iterator[str]:
    """The steps to ``goal``, which stands for the expression ``wanted``; what it does not need is left out."""
    done: Stated = {goal: None}
    finding = known.findings[goal]
    for node in finding.uses:
        yield from _steps_to(known, node, done)
    for equation in finding.equations:
        yield from _premises(known, equation, done)
    if wanted not in known.findings:
        yield f"So {plain(wanted)} = {value_text(finding.value)}."


def _steps_to(known: Knowledge, quantity: Node, done: Stated) -> Iterator[str]:
    if quantity in done:
        return
    done[quantity] = None
    finding = known.findings[quantity]
    for node in finding.uses:
        yield from _steps_to(known, node, done)
    for equation in finding.equations:
        yield from _premises(known, equation, done)
    result = f"{plain(quantity)} = {value_text(finding.value)}"
    if len(finding.equations) == 1:
        (equation,) = finding.equations
        done[(equation.left, equation.right)] = None
        yield _sentence(equation, result)
        return
    for equation in finding.equations:
        if (equation.left, equation.right) not in done:
            done[(equation.left, equation.right)] = None
            yield _sentence(equation, "")
    yield f"Together: {result}."


def _premises(known: Knowledge, equation: Equation, done: Stated) -> Iterator[str]:
    for node in equation.needs:
        yield from _steps_to(known, node, done)
    for support in equation.support:
        if (support.left, support.right) not in done:
            done[(support.left, support.right)] = None
            yield from _premises(known, support, done)
            yield _sentence(support, "")


def _sentence(equation: Equation, result: str) -> str:
    formula = f"{plain(equation.left)} = {plain(equation.right)}"
    because = f" ({equation.because})" if equation.because and equation.theorem != "given" else ""
    name = equation.because if equation.theorem == "given" else equation.theorem
    start = f"{name[0].upper()}{name[1:]}{because}: {formula}"
    return f"{start}, so {result}." if result and result != formula else f"{start}."


def value_text(value: sympy.Expr) -> str:
    """The value for a reader; a decimal one with six digits."""
    if value.has(sympy.Float):
        return f"{float(value):.6g}"
    return str(shortened(value)).replace("**", "^").replace("sqrt", "√").replace("pi", "π")
