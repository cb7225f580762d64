"""Findings told as sentences, each after those that it needs."""

from collections.abc import Iterator

from saccade.readers.geometry.exact import shortened
from saccade.readers.geometry.facts import Equation
from saccade.readers.geometry.knowledge import Knowledge
from saccade.readers.geometry.plain import plain
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Node

Told = dict[Node | tuple[Node, Node], None]
"""Quantities and equations that were told."""


def told(known: Knowledge, goal: Node, wanted: Node) -> Iterator[str]:
    """The steps to ``goal``, which stands for the expression ``wanted``; what it does not need is left out."""
    done: Told = {goal: None}
    finding = known.findings[goal]
    for node in finding.uses:
        yield from _steps_to(known, node, done)
    for equation in finding.equations:
        yield from _premises(known, equation, done)
    if wanted not in known.findings:
        yield f"So {plain(wanted)} = {shown(finding.value)}."


def _steps_to(known: Knowledge, quantity: Node, done: Told) -> Iterator[str]:
    if quantity in done:
        return
    done[quantity] = None
    finding = known.findings[quantity]
    for node in finding.uses:
        yield from _steps_to(known, node, done)
    for equation in finding.equations:
        yield from _premises(known, equation, done)
    result = f"{plain(quantity)} = {shown(finding.value)}"
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


def _premises(known: Knowledge, equation: Equation, done: Told) -> Iterator[str]:
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


def shown(value: sympy.Expr) -> str:
    """The value for a reader; a decimal one with six digits."""
    if value.has(sympy.Float):
        return f"{float(value):.6g}"
    return str(shortened(value)).replace("**", "^").replace("sqrt", "√").replace("pi", "π")
