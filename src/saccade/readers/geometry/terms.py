"""What statements about a figure are made of: numbers, names, calls and arithmetic, each knowing where it was read."""

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
    """Lets formulas be written as formulas: ``a**2 + b**2``."""

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
