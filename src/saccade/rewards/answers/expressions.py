"""A small calculator for mathematical answers: fractions, roots, pi, powers, in plain text or LaTeX.

No names, no functions but the square root, no ``eval``: hostile input costs at most a few hundred tokens.
"""

import math
import re

from saccade.quantities import UNITS, Quantity

MAX_EXPRESSION_CHARACTERS = 256
MAX_DEPTH = 24
MAX_EXPONENT = 64.0
MAX_VALUE = 1e15

_SPELLINGS = (
    (r"\dfrac", r"\frac"),
    (r"\tfrac", r"\frac"),
    (r"\left", ""),
    (r"\right", ""),
    (r"\(", ""),
    (r"\)", ""),
    (r"\,", ""),
    (r"\;", ""),
    (r"\!", ""),
    ("$", ""),
    (r"\times", "*"),
    (r"\cdot", "*"),
    ("×", "*"),
    ("·", "*"),
    (r"\div", "/"),
    ("÷", "/"),
    ("−", "-"),
    ("**", "^"),
    (r"^{\circ}", "°"),
    (r"^\circ", "°"),
    (r"\circ", "°"),
    (r"\degree", "°"),
    (r"\%", "%"),
    (r"\pi", " pi "),
    ("π", " pi "),
    (r"\sqrt", " sqrt "),
    ("√", " sqrt "),
    ("²", "^2"),
    ("³", "^3"),
    (r"\frac", " frac "),
)
"""LaTeX and Unicode to the calculator's own signs, in this order."""

_TEXT_COMMAND = re.compile(r"\\(?:text|mathrm|boxed)\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\{(.*)\}")
_LEFT_SIDE = re.compile(r"[A-Za-z]{1,3}\s*=(?!=)")
_WITH_UNIT = re.compile(r"(.*(?:[0-9)}\]]|pi))\s*(°|%|[A-Za-z]+(?:\^[23])?)")
_THOUSANDS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_MIXED = re.compile(r"(-?)([0-9]+)\s+([0-9]+)/([0-9]+)")
_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+|pi|sqrt|frac|[-+*/^(){}])")


def normal_form(text: str) -> str:
    """The answer in the calculator's signs, without a box or a left side such as ``x =``."""
    body = text.strip().removesuffix(".").strip("$ ")
    boxed = _BOXED.fullmatch(body)
    body = _TEXT_COMMAND.sub(r" \1 ", boxed[1] if boxed else body)
    for spelling, sign in _SPELLINGS:
        body = body.replace(spelling, sign)
    body = body.strip()
    left = _LEFT_SIDE.match(body)
    return body[left.end() :].strip() if left else body


def evaluate(text: str) -> Quantity | None:
    """The value of the whole text, or None when it is not an expression or leaves the bounds.

    ``3/4``, ``\\frac{\\sqrt{3}}{2}``, ``2π``, ``2(3+1)``, ``1 1/2``, ``-2^2``, ``x = 5``, ``60^\\circ``, ``12 cm^2``.
    """
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        return None
    body, unit = normal_form(text), ""
    with_unit = _WITH_UNIT.fullmatch(body)
    if with_unit:
        base, _, power = with_unit[2].partition("^")
        if base.casefold() in UNITS:
            body, unit = with_unit[1], UNITS[base.casefold()] + ("^" + power if power else "")
    mixed = _MIXED.fullmatch(body)
    if mixed:
        body = f"{mixed[1]}({mixed[2]}+{mixed[3]}/{mixed[4]})"
    body = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), body)
    tokens = _tokens(body)
    if tokens is None:
        return None
    try:
        return Quantity(_Calculator(tokens).value(), unit)
    except _NotAnExpressionError:
        return None


class _NotAnExpressionError(Exception):
    """Wrong syntax, division by zero, or a bound was left."""


def _tokens(body: str) -> list[str] | None:
    tokens, position = [], 0
    while position < len(body):
        match = _TOKEN.match(body, position)
        if match is None:
            return None
        tokens.append(match[1])
        position = match.end()
    return tokens or None


def _is_number(token: str) -> bool:
    return token[:1].isdigit() or token[:1] == "."


def _bounded(value: float) -> float:
    if not abs(value) <= MAX_VALUE:
        raise _NotAnExpressionError
    return value


class _Calculator:
    """Recursive descent over one list of tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def value(self) -> float:
        result = self._sum()
        if self._next():
            raise _NotAnExpressionError
        return result

    def _next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._next()
        if not token or (wanted and token not in wanted):
            raise _NotAnExpressionError
        self._position += 1
        return token

    def _sum(self) -> float:
        total = self._product()
        while self._next() in ("+", "-"):
            sign = 1.0 if self._take() == "+" else -1.0
            total = _bounded(total + sign * self._product())
        return total

    def _product(self) -> float:
        result = self._signed()
        while token := self._next():
            if token in ("*", "/"):
                self._take()
                factor = self._signed()
                if token == "/" and factor == 0:
                    raise _NotAnExpressionError
                result = _bounded(result * factor if token == "*" else result / factor)
            elif token in ("pi", "sqrt", "frac", "("):
                result = _bounded(result * self._power())
            else:
                break
        return result

    def _signed(self) -> float:
        if self._next() not in ("+", "-"):
            return self._power()
        sign = -1.0 if self._take() == "-" else 1.0
        self._enter()
        result = sign * self._signed()
        self._depth -= 1
        return result

    def _power(self) -> float:
        base = self._atom()
        if self._next() != "^":
            return base
        self._take()
        self._enter()
        exponent = self._signed()
        self._depth -= 1
        if abs(exponent) > MAX_EXPONENT or (base < 0 and not exponent.is_integer()) or (base == 0 > exponent):
            raise _NotAnExpressionError
        return _bounded(base**exponent)

    def _atom(self) -> float:
        token = self._take()
        if token == "pi":
            return math.pi
        if token == "sqrt":
            radicand = self._atom_inside()
            if radicand < 0:
                raise _NotAnExpressionError
            return math.sqrt(radicand)
        if token == "frac":
            return self._fraction()
        if token in ("(", "{"):
            self._enter()
            result = self._sum()
            self._depth -= 1
            self._take(")" if token == "(" else "}")
            return result
        if not _is_number(token):
            raise _NotAnExpressionError
        number = _bounded(float(token))
        if self._next() == "frac" and number.is_integer():
            # A whole number before a LaTeX fraction is a mixed number, not a product.
            self._take()
            return number + self._fraction()
        return number

    def _atom_inside(self) -> float:
        self._enter()
        result = self._atom()
        self._depth -= 1
        return result

    def _fraction(self) -> float:
        if self._next() != "{":
            raise _NotAnExpressionError
        numerator = self._atom_inside()
        if self._next() != "{":
            raise _NotAnExpressionError
        denominator = self._atom_inside()
        if denominator == 0:
            raise _NotAnExpressionError
        return _bounded(numerator / denominator)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _NotAnExpressionError
