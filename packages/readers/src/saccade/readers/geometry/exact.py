"""Exact solution of equations: one unknown in one equation, linear systems, pairs of equations.

Nothing here searches: polynomials up to the second degree and single sines, cosines and tangents are inverted, for
all else the value of the numeric figure stands, which the equation has confirmed. Sympy sees small expressions only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from saccade.readers.geometry.facts import Equation
from saccade.readers.geometry.plain import is_quantity
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation

MAX_OPERATIONS = 24
"""Length of an exact value in operations; a longer one becomes a decimal number."""

MAX_EXPONENT = 6
DIGITS = 15
_NEAR = 1e-6

_TRIGONOMETRY: Mapping[str, Callable[[sympy.Expr], sympy.Expr]] = {
    "SinOf": lambda a: sympy.sin(a * sympy.pi / 180),
    "CosOf": lambda a: sympy.cos(a * sympy.pi / 180),
    "TanOf": lambda a: sympy.tan(a * sympy.pi / 180),
}


class NotExactError(Exception):
    """The expression has no exact form that is short."""


def to_sympy(node: Node, values: Mapping[Node, sympy.Expr]) -> sympy.Expr:
    """The expression with ``values`` for its quantities; ``NotExactError`` when it would grow or has no value."""
    if node in values:
        return values[node]
    match node:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Name("pi"):
            return sympy.pi
        case Operation("+", args):
            return sympy.Add(*[to_sympy(arg, values) for arg in args])
        case Operation("*", args):
            return sympy.Mul(*[to_sympy(arg, values) for arg in args])
        case Operation("-", (inner,)):
            return -to_sympy(inner, values)
        case Operation("/", (above, below)):
            divisor = to_sympy(below, values)
            if divisor == 0:
                raise NotExactError
            return to_sympy(above, values) / divisor
        case Operation("^", (base, Number(exponent))):
            if abs(exponent.numerator) > MAX_EXPONENT or exponent.denominator > 2:
                raise NotExactError
            return to_sympy(base, values) ** sympy.Rational(exponent.numerator, exponent.denominator)
        case Call(name, (inner,)) if name in _TRIGONOMETRY:
            return _TRIGONOMETRY[name](to_sympy(inner, values))
    raise NotExactError


def solve_for(
    left: Node, right: Node, unknown: Node, values: Mapping[Node, sympy.Expr], near: float
) -> sympy.Expr | None:
    """The unknown's value that is ``near`` the numeric one, out of ``left = right``; None when it has none there."""
    symbol = sympy.Dummy("unknown")
    try:
        gap = to_sympy(left, {**values, unknown: symbol}) - to_sympy(right, {**values, unknown: symbol})
    except NotExactError:
        return None
    return root_near(gap, symbol, near)


def root_near(gap: sympy.Expr, symbol: sympy.Symbol, near: float) -> sympy.Expr | None:
    """The root that is ``near``; None when the expression has none there or does not depend on the symbol."""
    if not _fixes(gap, symbol, near):
        return None
    for root in _roots(gap, symbol):
        if _is_near(root, near):
            return shortened(root)
    return sympy.Float(near, DIGITS)


def shortened(value: sympy.Expr) -> sympy.Expr:
    """The value in few operations, else as a decimal number."""
    if value.is_Rational or value.has(sympy.Float):
        return value if value.is_Rational else sympy.Float(value.evalf(DIGITS), DIGITS)
    if value.count_ops() <= 2 * MAX_OPERATIONS:
        value = sympy.radsimp(sympy.nsimplify(value)) if value.count_ops() <= MAX_OPERATIONS else value
    is_short = value.count_ops() <= MAX_OPERATIONS and not value.has(
        sympy.sin, sympy.cos, sympy.tan, sympy.asin, sympy.acos, sympy.atan
    )
    return value if is_short else sympy.Float(value.evalf(DIGITS), DIGITS)


def _fixes(gap: sympy.Expr, symbol: sympy.Symbol, near: float) -> bool:
    """Whether the equation changes with the unknown there: else any value would do, or a small error would be large."""
    at, step = sympy.Float(near, 20), max(1e-4 * abs(near), 1e-6)
    try:
        here, beside, before = (complex(gap.subs(symbol, spot).evalf(20)) for spot in (at, at + step, at - step))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return False
    scale = abs(beside - here) + abs(before - here)
    return scale > 0 and abs(here) <= 1e-2 * scale


def _roots(gap: sympy.Expr, symbol: sympy.Symbol) -> list[sympy.Expr]:
    found: list[sympy.Expr] = []
    numerator = sympy.numer(sympy.together(gap))
    polynomial = numerator.as_poly(symbol)
    if polynomial is not None and polynomial.degree() in (1, 2):
        coefficients = [sympy.sympify(one) for one in polynomial.all_coeffs()]
        if len(coefficients) == 2:
            return [-coefficients[1] / coefficients[0]]
        a, b, c = coefficients
        root = sympy.sqrt(sympy.expand(b * b - 4 * a * c))
        return [(-b + root) / (2 * a), (-b - root) / (2 * a)]
    if polynomial is not None:
        return found
    for word, inverse in ((sympy.sin, sympy.asin), (sympy.cos, sympy.acos), (sympy.tan, sympy.atan)):
        call = word(symbol * sympy.pi / 180)
        placeholder = sympy.Dummy("ratio")
        inner = numerator.subs(call, placeholder)
        linear = inner.as_poly(placeholder)
        if not inner.has(symbol) and linear is not None and linear.degree() == 1:
            ratio = -linear.coeff_monomial(1) / linear.coeff_monomial(placeholder)
            main = inverse(ratio) * 180 / sympy.pi
            found.extend((main, 180 - main))
    return found


def _is_near(value: sympy.Expr, near: float) -> bool:
    try:
        number = complex(value.evalf(DIGITS))
    except (TypeError, ValueError):
        return False
    return abs(number - near) <= _NEAR * (1e-3 + abs(near))


def rational_row(left: Node, right: Node, values: Mapping[Node, sympy.Expr]) -> dict[Node | None, Fraction] | None:
    """A linear equation with rational coefficients as {quantity: coefficient, None: constant}; else None."""
    row: dict[Node | None, Fraction] = {}
    if _add(left, Fraction(1), values, row) and _add(right, Fraction(-1), values, row):
        return {key: value for key, value in row.items() if value or key is None}
    return None


def _add(node: Node, factor: Fraction, values: Mapping[Node, sympy.Expr], row: dict[Node | None, Fraction]) -> bool:
    if node in values:
        value = values[node]
        if not value.is_Rational:
            return False
        row[None] = row.get(None, Fraction(0)) + factor * Fraction(int(value.p), int(value.q))
        return True
    match node:
        case Number(value):
            row[None] = row.get(None, Fraction(0)) + factor * value
            return True
        case Operation("+", args):
            return all(_add(arg, factor, values, row) for arg in args)
        case Operation("-", (inner,)):
            return _add(inner, -factor, values, row)
        case Operation("/", (above, Number(value))) if value:
            return _add(above, factor / value, values, row)
        case Operation("*", args):
            numbers = [_constant(arg, values) for arg in args]
            open_args = [arg for arg, number in zip(args, numbers) if number is None]
            if len(open_args) > 1:
                return False
            for number in numbers:
                factor *= 1 if number is None else number
            return _add(open_args[0] if open_args else Number(Fraction(1)), factor, values, row)
    if is_quantity(node):
        row[node] = row.get(node, Fraction(0)) + factor
        return True
    return False


def _constant(node: Node, values: Mapping[Node, sympy.Expr]) -> Fraction | None:
    if isinstance(node, Number):
        return node.value
    value = values.get(node)
    return Fraction(int(value.p), int(value.q)) if value is not None and value.is_Rational else None


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
    found = _fixed_unknowns([row for row, _ in rows])
    for unknown, value, share in sorted(found, key=lambda one: (len(one[2]), not isinstance(one[0], Name))):
        sources = sorted(share)
        needed = _minimal_rows([rows[index][0] for index in sources], unknown)
        yield unknown, value, tuple(rows[sources[index]][1] for index in needed)


def _fixed_unknowns(rows: Sequence[Row]) -> list[tuple[Node, Fraction, Share]]:
    """Gauss-Jordan elimination that keeps the sources of each row."""
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


def _minimal_rows(rows: Sequence[Row], unknown: Node) -> list[int]:
    """A minimal set of rows that fix the unknown."""
    kept = list(range(len(rows)))
    for index in reversed(range(len(rows))):
        trial = [other for other in kept if other != index]
        if any(found == unknown for found, _, _ in _fixed_unknowns([rows[other] for other in trial])):
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
                value = _value_by_substitution(linear, rest, hidden, wanted, values, near[wanted])
                if value is not None:
                    yield wanted, value, (one, other)


def _value_by_substitution(
    linear: Equation, rest: Equation, hidden: Node, wanted: Node, values: Mapping[Node, sympy.Expr], near: float
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
