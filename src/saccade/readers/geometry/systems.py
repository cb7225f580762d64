"""Unknowns that no single equation gives: linear equations together, and two equations with two unknowns."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from saccade.readers.geometry.exact import NotExactError, rational_row, root_near, to_sympy
from saccade.readers.geometry.facts import Equation
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Name, Node

MAX_ROWS = 240
MAX_PAIRS = 40
Row = dict[Node | None, Fraction]
Share = dict[int, Fraction]
"""How much of every equation went into a row."""


def linear_findings(
    equations: Sequence[Equation], values: Mapping[Node, sympy.Expr]
) -> Iterator[tuple[Node, Fraction, tuple[Equation, ...]]]:
    """Unknowns that linear equations fix together, with the equations; few of them first."""
    rows: list[tuple[Row, Equation]] = []
    for equation in equations:
        row = rational_row(equation.left, equation.right, values)
        if row and any(key is not None for key in row):
            rows.append((row, equation))
    rows = rows[:MAX_ROWS]
    found = _fixed([row for row, _ in rows])
    for unknown, value, share in sorted(found, key=lambda one: (len(one[2]), not isinstance(one[0], Name))):
        sources = sorted(share)
        needed = _thinned([rows[index][0] for index in sources], unknown)
        yield unknown, value, tuple(rows[sources[index]][1] for index in needed)


def _fixed(rows: Sequence[Row]) -> list[tuple[Node, Fraction, Share]]:
    """Gauss and Jordan's elimination that remembers where rows come from."""
    basis: dict[Node, tuple[Row, Share]] = {}
    for index, source in enumerate(rows):
        row, share = dict(source), {index: Fraction(1)}
        for known in [key for key in row if key in basis]:
            if known is not None and known in row:
                _subtract(row, share, *basis[known], row[known])
        pivot = next((key for key in row if key is not None), None)
        if pivot is None:
            continue
        scale = row[pivot]
        row = {key: value / scale for key, value in row.items()}
        share = {key: value / scale for key, value in share.items()}
        for other, parts in basis.values():
            if pivot in other:
                _subtract(other, parts, row, share, other[pivot])
        basis[pivot] = (row, share)
    return [
        (pivot, -row.get(None, Fraction(0)), share)
        for pivot, (row, share) in basis.items()
        if all(key is None or key == pivot for key in row)
    ]


def _subtract(row: Row, share: Share, other: Row, parts: Share, times: Fraction) -> None:
    for key, value in other.items():
        row[key] = row.get(key, Fraction(0)) - times * value
        if not row[key] and key is not None:
            del row[key]
    for index, value in parts.items():
        share[index] = share.get(index, Fraction(0)) - times * value
        if not share[index]:
            del share[index]


def _thinned(rows: Sequence[Row], unknown: Node) -> list[int]:
    """Rows that fix the unknown when no other of them can be left out."""
    kept = list(range(len(rows)))
    for index in reversed(range(len(rows))):
        trial = [other for other in kept if other != index]
        if any(found == unknown for found, _, _ in _fixed([rows[other] for other in trial])):
            kept = trial
    return kept


def pair_findings(
    equations: Sequence[Equation],
    unknowns: Sequence[frozenset[Node]],
    values: Mapping[Node, sympy.Expr],
    near: Mapping[Node, float],
) -> Iterator[tuple[Node, sympy.Expr, tuple[Equation, ...]]]:
    """Unknowns of two equations with the same two unknowns; one of them must be linear in one."""
    open_equations = [(equation, names) for equation, names in zip(equations, unknowns) if len(names) == 2]
    tried = 0
    for (one, first), (other, second) in combinations(open_equations, 2):
        if first != second or tried >= MAX_PAIRS or not all(name in near for name in first):
            continue
        tried += 1
        for linear, rest in ((one, other), (other, one)):
            for hidden in sorted(first, key=str):
                (wanted,) = first - {hidden}
                value = _substituted(linear, rest, hidden, wanted, values, near[wanted])
                if value is not None:
                    yield wanted, value, (one, other)


def _substituted(
    linear: Equation,
    rest: Equation,
    hidden: Node,
    wanted: Node,
    values: Mapping[Node, sympy.Expr],
    near: float,
) -> sympy.Expr | None:
    symbol, other = sympy.Dummy("hidden"), sympy.Dummy("wanted")
    spelled = {**values, hidden: symbol, wanted: other}
    try:
        gaps = [to_sympy(one.left, spelled) - to_sympy(one.right, spelled) for one in (linear, rest)]
    except NotExactError:
        return None
    polynomial = sympy.expand(gaps[0]).as_poly(symbol)
    if polynomial is None or polynomial.degree() != 1:
        return None
    slope, constant = polynomial.all_coeffs()
    return root_near(gaps[1].subs(symbol, -constant / slope), other, near)
