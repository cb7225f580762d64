"""Statements as CDL wants them: angles go round counterclockwise, parallels point the same way.

A drawing tells which way a corner goes. Without one, the figures that the words allow do: where they all agree, CDL may
say it; where they do not, CDL would say more than the words, and the statement is left out.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from saccade.errors import ToolError
from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.naming import named_in_full
from saccade.readers.geometry.numeric import find_figures
from saccade.readers.geometry.state import FigureBatch, dot
from saccade.readers.geometry.terms import Call, Name, Node, Operation, call, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS

FLAT = 1e-3
"""Corners of less than this area, as a share of the square of their perimeter, go round no way."""


class OpenWayError(Exception):
    """The figures differ in which way a corner or a line goes."""


class Figures:
    """Figures in which corners are looked at; mirrored figures count as one."""

    def __init__(self, state: FigureBatch, first: tuple[str, ...]) -> None:
        self._state = state
        self._first = np.sign(state.signed_area(first))

    def corner(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The three points counterclockwise; as they are where they lie on one line."""
        state = self._state
        if not set(names) <= set(state.points):
            return names
        area = state.signed_area(names) * self._first / state.perimeter(names) ** 2
        if (area > -FLAT).all():
            return names
        if (area < FLAT).all():
            return names[::-1]
        raise OpenWayError

    def is_same_way(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Whether two parallel lines point the same way."""
        state = self._state
        if not {*one, *other} <= set(state.points):
            return True
        along = dot(state.vector(one[0], one[1]), state.vector(other[0], other[1]))
        if (along > 0).all() or (along < 0).all():
            return bool((along > 0).all())
        raise OpenWayError


def figures_drawn(places: Mapping[str, complex]) -> Figures:
    """The one figure of a picture, whose y points down."""
    points = {name: (np.array([at.real]), np.array([-at.imag])) for name, at in places.items()}
    # A triangle of no figure, that goes round counterclockwise.
    corners = dict(zip("()_", ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))))
    points |= {name: (np.array([x]), np.array([y])) for name, (x, y) in corners.items()}
    state = FigureBatch(points=points, radii={}, symbols={}, members={}, choice=np.zeros(1, np.int64), size=1.0)
    return Figures(state, tuple(corners))


def figures_of_words(statements: Sequence[Call]) -> Figures | None:
    """The figures that the words allow; None where there are none, or nothing in them that goes round."""
    # Sorted, so that the same words have the same first corner whichever of their statements is put into CDL.
    polygons = sorted({names_of(node) for said in statements for node in walk(said) if _is_polygon(node)})
    corners = sorted({names_of(node) for said in statements for node in walk(said) if _is_corner(node)})
    try:
        solutions = find_figures(figure_of(statements, "the words"))
    except ToolError:
        return None
    named = [names for names in [*polygons, *corners] if set(names) <= set(solutions.state.points)]
    for names in named if solutions.verdict != "inconsistent" else ():
        area = solutions.state.signed_area(names) / solutions.state.perimeter(names) ** 2
        if (np.abs(area) > FLAT).all():
            return Figures(solutions.state, names)
    return None


def in_full(statements: Sequence[Call]) -> list[Call]:
    """The statements with angles by three points, as far as one can tell which."""
    try:
        return named_in_full(statements, "the words")
    except ToolError:
        return list(statements)


def ordered(statement: Call, figures: Figures) -> list[Call]:
    """The statement as CDL wants it, in more parts where CDL has no word for the whole; ``OpenWayError``."""
    match statement:
        case Call("RightAngle", (Call("Angle", (Name(), Name(), Name())) as corner,)):
            a, b, c = figures.corner(names_of(corner))
            return [call("Perpendicular", call("Line", a, b), call("Line", c, b))]
        case Call("IsHypotenuseOf", (side, shape)):
            first, second = names_of(side)
            return [
                call("Perpendicular", call("Line", first, third), call("Line", second, third))
                for third in names_of(shape)
                if third not in (first, second)
            ]
    found = _in_order(statement, figures)
    assert isinstance(found, Call)
    return [found]


def _in_order(node: Node, figures: Figures) -> Node:
    match node:
        case Call("Angle", (Name(), Name(), Name())):
            return Call("Angle", tuple(map(Name, figures.corner(names_of(node)))), node.at)
        case Call("Parallel", (Call("Line") as one, Call("Line") as other)):
            is_same = figures.is_same_way(names_of(one), names_of(other))
            return Call("Parallel", (one, other if is_same else Call("Line", other.args[::-1], other.at)), node.at)
        case Call(name, args):
            return Call(name, tuple(_in_order(arg, figures) for arg in args), node.at)
        case Operation(sign, args):
            return Operation(sign, tuple(_in_order(arg, figures) for arg in args), node.at)
    return node


def _is_polygon(node: Node) -> bool:
    return (
        isinstance(node, Call)
        and node.name in CORNERS
        and all(isinstance(arg, Name) and arg.text != "$" for arg in node.args)
    )


def _is_corner(node: Node) -> bool:
    return isinstance(node, Call) and node.name == "Angle" and len(names_of(node)) == 3
