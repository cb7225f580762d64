"""Terms of the geometry language: numbers, names, calls and arithmetic, and their text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from saccade.errors import ToolError

Sign = Literal["+", "*", "/", "^", "-"]
"""A sum and a product have any number of operands, ``-`` is a change of sign and has one."""


class LanguageError(ToolError):
    """A text that is no statement: says where, what was found and what was expected."""


class _Arithmetic:
    """Arithmetic operators, for formulas such as ``a**2 + b**2``."""

    __slots__ = ()

    def __add__(self, other: "Node | int") -> "Node":
        return Operation("+", (_node(self), _node(other)))

    def __sub__(self, other: "Node | int") -> "Node":
        return Operation("+", (_node(self), Operation("-", (_node(other),))))

    def __rsub__(self, other: int) -> "Node":
        return Operation("+", (_node(other), Operation("-", (_node(self),))))

    def __mul__(self, other: "Node | int") -> "Node":
        return Operation("*", (_node(self), _node(other)))

    def __rmul__(self, other: int) -> "Node":
        return Operation("*", (_node(other), _node(self)))

    def __truediv__(self, other: "Node | int") -> "Node":
        return Operation("/", (_node(self), _node(other)))

    def __pow__(self, other: int) -> "Node":
        return Operation("^", (_node(self), _node(other)))


@dataclass(frozen=True, slots=True)
class Number(_Arithmetic):
    """An exact number."""

    value: Fraction
    at: int = field(default=0, compare=False)
    """Place of the first character in the text, counted from 0; for errors only."""


@dataclass(frozen=True, slots=True)
class Name(_Arithmetic):
    """A point, an unknown of an equation, ``pi``, or ``$`` for what the text does not name."""

    text: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call(_Arithmetic):
    """``name(args)``: a shape, a quantity or a statement."""

    name: str
    args: tuple["Node", ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Operation(_Arithmetic):
    """Arithmetic."""

    sign: Sign
    args: tuple["Node", ...]
    at: int = field(default=0, compare=False)


Node = Number | Name | Call | Operation


def _node(value: object) -> Node:
    if isinstance(value, int):
        return Number(Fraction(value))
    assert isinstance(value, Number | Name | Call | Operation)
    return value


def call(name: str, *args: Node | str) -> Call:
    """A call; texts are names."""
    return Call(name, tuple(Name(arg) if isinstance(arg, str) else arg for arg in args))


def number(value: int | Fraction) -> Number:
    """The number as a term."""
    return Number(Fraction(value))


def length(first: str, second: str) -> Node:
    """The distance of two points; the same for both orders."""
    return call("LengthOf", call("Line", *sorted((first, second))))


def angle(first: str, vertex: str, second: str) -> Node:
    """The angle at ``vertex`` in degrees, from 0 to 180; the same for both orders."""
    one, other = sorted((first, second))
    return call("MeasureOf", call("Angle", one, vertex, other))


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, outside first."""
    yield node
    if isinstance(node, Call | Operation):
        for arg in node.args:
            yield from walk(arg)


_RANK = {"+": 1, "-": 2, "*": 2, "/": 2, "^": 3}


def written(node: Node) -> str:
    """The term in the language; reading it gives the term back."""
    match node:
        case Number(value):
            return _decimal(value)
        case Name(text):
            return text
        case Call(name, args):
            return f"{name}({','.join(map(written, args))})"
        case Operation(sign, args):
            return _written_operation(sign, [_inside(arg, sign, index) for index, arg in enumerate(args)])


def _written_operation(sign: str, parts: list[str]) -> str:
    if sign == "-":
        return f"-{parts[0]}"
    if sign == "+":
        return parts[0] + "".join(part if part.startswith("-") else f"+{part}" for part in parts[1:])
    return sign.join(parts)


def _inside(arg: Node, sign: str, index: int) -> str:
    text = written(arg)
    if isinstance(arg, Number) and ("/" in text or text.startswith("-")):
        return text if sign == "+" and not text.startswith("-") else f"({text})"
    if not isinstance(arg, Operation):
        return text
    is_loose = _RANK[arg.sign] <= _RANK[sign] and not (sign == "+" and arg.sign == "-" and index > 0)
    is_loose |= sign == "+" and arg.sign == "+"
    return f"({text})" if is_loose else text


def _decimal(value: Fraction) -> str:
    """The number as a finite decimal, or as a fraction."""
    places = next((places for places in range(10) if (value * 10**places).denominator == 1), None)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * (10**places // value.denominator)).zfill(places + 1)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
