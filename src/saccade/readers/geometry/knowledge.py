"""What is known so far: values of quantities, which are equal, and how each was found."""

from collections import deque
from dataclasses import dataclass, field

from saccade.readers.geometry.facts import Equation
from saccade.readers.geometry.plain import is_quantity
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
    """Grows with every finding."""

    findings: dict[Node, Finding] = field(default_factory=dict)
    same: dict[Node, list[tuple[Node, Equation]]] = field(default_factory=dict)
    """Quantities that an equation makes equal."""

    def value(self, quantity: Node) -> sympy.Expr | None:
        """The value, where it is known."""
        finding = self.findings.get(quantity)
        return finding.value if finding else None

    def note(self, equation: Equation) -> None:
        """Remembers an equation that says nothing but that two quantities are equal."""
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
