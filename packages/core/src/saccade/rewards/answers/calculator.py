"""Recursive descent over the tokens of an expression, with values for its letters; no ``eval``, bounded throughout."""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

MAX_DEPTH = 24
MAX_EXPONENT = 64.0
MAX_VALUE = 1e15

_FUNCTIONS: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {
        "sin": math.sin,
        "cos": math.cos,
        "tan": math.tan,
        "arcsin": math.asin,
        "arccos": math.acos,
        "arctan": math.atan,
        "ln": math.log,
        "log": math.log10,
        "exp": math.exp,
    }
)
_CONSTANTS = MappingProxyType({"pi": math.pi, "e": math.e})
NAMES = frozenset({"sqrt", "frac", *_FUNCTIONS, *_CONSTANTS})
"""Words that are no product of letters."""

_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+|[-+*/^(){}\[\]_°]|[A-Za-z]+)")
_RADIANS_OF_A_DEGREE = math.pi / 180
_NO_LETTERS: Mapping[str, float] = MappingProxyType({})


class NotAnExpressionError(Exception):
    """Wrong syntax, division by zero, or a bound was left."""


def tokens_of(body: str) -> list[str] | None:
    """Numbers, names, single letters and signs; None where there is anything else, or nothing."""
    tokens: list[str] = []
    position = 0
    while position < len(body):
        match = _TOKEN.match(body, position)
        if match is None:
            return None
        found = match[1]
        tokens += [found] if found in NAMES or not found[0].isalpha() else list(found)
        position = match.end()
    return tokens or None


def letters_in(tokens: list[str]) -> frozenset[str]:
    """The letters that stand for unknown values."""
    return frozenset(token for token in tokens if len(token) == 1 and token.isalpha() and token not in _CONSTANTS)


def calculate(tokens: list[str], letters: Mapping[str, float] = _NO_LETTERS) -> float:
    """The value of all tokens; ``NotAnExpressionError`` where they have none."""
    return _Calculator(tokens, letters).value()


def _bounded(value: float) -> float:
    if not abs(value) <= MAX_VALUE:
        raise NotAnExpressionError
    return value


class _Calculator:
    def __init__(self, tokens: list[str], letters: Mapping[str, float]) -> None:
        self._tokens = tokens
        self._letters = letters
        self._position = 0
        self._depth = 0
        self._is_in_angle = False

    def value(self) -> float:
        result = self._sum()
        if self._next():
            raise NotAnExpressionError
        return result

    def _next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._next()
        if not token or (wanted and token not in wanted):
            raise NotAnExpressionError
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
                    raise NotAnExpressionError
                result = _bounded(result * factor if token == "*" else result / factor)
            elif token == "(" or token.isalpha():
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
        return _raised(base, exponent)

    def _atom(self) -> float:
        token = self._take()
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in self._letters:
            return self._letters[token]
        if token == "sqrt":
            return self._root()
        if token == "frac":
            return self._fraction()
        if token in _FUNCTIONS:
            return self._function(token)
        if token in ("(", "{"):
            self._enter()
            result = self._sum()
            self._depth -= 1
            self._take(")" if token == "(" else "}")
            return result
        if not (token[0].isdigit() or token[0] == "."):
            raise NotAnExpressionError
        number = _bounded(float(token))
        if self._next() == "°" and self._is_in_angle:
            self._take()
            return number * _RADIANS_OF_A_DEGREE
        if self._next() == "frac" and number.is_integer():
            # A whole number before a LaTeX fraction is a mixed number, not a product.
            self._take()
            return number + self._fraction()
        return number

    def _function(self, name: str) -> float:
        if name == "log" and self._next() == "_":
            self._take()
            base = self._atom_inside()
        else:
            base = 10.0
        argument = self._angle() if name in ("sin", "cos", "tan") else self._atom_inside()
        try:
            if name == "log":
                return _bounded(math.log(argument) / math.log(base))
            return _bounded(_FUNCTIONS[name](argument))
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise NotAnExpressionError from error

    def _angle(self) -> float:
        """The argument of a function of angles, in radians, or in degrees where their sign follows the number."""
        before, self._is_in_angle = self._is_in_angle, True
        angle = self._atom_inside()
        self._is_in_angle = before
        return angle

    def _root(self) -> float:
        degree = 2.0
        if self._next() == "[":
            self._take()
            degree = self._atom_inside()
            self._take("]")
        radicand = self._atom_inside()
        if radicand < 0 and degree == 3:
            return -_raised(-radicand, 1 / 3)
        if radicand < 0 or degree == 0:
            raise NotAnExpressionError
        return math.sqrt(radicand) if degree == 2 else _raised(radicand, 1 / degree)

    def _atom_inside(self) -> float:
        self._enter()
        result = self._atom()
        self._depth -= 1
        return result

    def _fraction(self) -> float:
        numerator, denominator = self._digit_or_group(), self._digit_or_group()
        if denominator == 0:
            raise NotAnExpressionError
        return _bounded(numerator / denominator)

    def _digit_or_group(self) -> float:
        """One argument of a fraction: a group, or as TeX reads ``\\frac12`` a single digit or letter."""
        token = self._next()
        if token.isdigit() and len(token) > 1:
            self._tokens[self._position] = token[1:]
            return float(token[0])
        if token != "{" and len(token) != 1 and token not in _CONSTANTS:
            raise NotAnExpressionError
        return self._atom_inside()

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotAnExpressionError


def _raised(base: float, exponent: float) -> float:
    if abs(exponent) > MAX_EXPONENT or (base < 0 and not exponent.is_integer()) or (base == 0 > exponent):
        raise NotAnExpressionError
    return _bounded(base**exponent)
