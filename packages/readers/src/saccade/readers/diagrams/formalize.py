"""A picture and its question as one problem, in logic forms and in CDL.

CDL wants angles that go round counterclockwise and parallels that point the same way. A drawing tells both. Without
one, the figures that the words allow do: where they all agree, CDL may say it; where they do not, CDL would say more
than the words, and the statement is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from saccade.errors import ToolError
from saccade.readers.diagrams.diagram import Diagram
from saccade.readers.diagrams.statements import construction_cdl_of, image_cdl_of, logic_forms_of
from saccade.readers.diagrams.words import Words
from saccade.readers.geometry.cdl import Cdl, cdl_of
from saccade.readers.geometry.figure import figure_of, named_in_full
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.numeric import find_figures
from saccade.readers.geometry.terms import Call, Name, Node, Operation, call, walk, written
from saccade.readers.geometry.values import FigureBatch, dot, names_of
from saccade.readers.geometry.vocabulary import CORNERS

FLAT = 1e-3
"""Corners of less than this area, as a share of the square of their perimeter, go round no way."""


class AmbiguousDirectionError(Exception):
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
        raise AmbiguousDirectionError

    def is_same_way(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Whether two parallel lines point the same way."""
        state = self._state
        if not {*one, *other} <= set(state.points):
            return True
        along = dot(state.vector(one[0], one[1]), state.vector(other[0], other[1]))
        if (along > 0).all() or (along < 0).all():
            return bool((along > 0).all())
        raise AmbiguousDirectionError


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


def directed_parts(statement: Call, figures: Figures) -> list[Call]:
    """The statement in CDL's directions, in parts where CDL has no word for the whole.

    Raises ``AmbiguousDirectionError`` when the figures differ.
    """
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


Places = Mapping[str, complex]


@dataclass(frozen=True, kw_only=True, slots=True)
class Formal:
    """A problem in both languages."""

    logic_forms: tuple[str, ...]
    """The diagram's, the words' and the goals."""
    points: str
    """Where the points of the statements are, as ``solve_geometry`` takes them."""
    construction_cdl: tuple[str, ...]
    image_cdl: tuple[str, ...]
    text_cdl: tuple[str, ...]
    goal_cdl: str
    """Empty when nothing is asked, more than one thing, or something that CDL has no words for."""
    notes: tuple[str, ...]
    """Parts that were left out or made up, and obstacles to solving the problem."""


def formalized(diagram: Diagram, words: Words) -> Formal:
    """The problem that picture and words make together."""
    said = [_filled_in(node, diagram, words) for node in words.said]
    goals = [_filled_in(node, diagram, words) for node in words.goals]
    shown = logic_forms_of(diagram)
    statements = [*parse_statements("\n".join(shown)), *said, *goals]
    notes = [*diagram.notes, *(f'not understood in the words: "{part}"' for part in words.left_out)]
    if not goals:
        notes.append("nothing is asked yet; add Find(...) to the logic forms and Value(...) as the goal")
    named: Sequence[str] = ()
    try:
        named = figure_of(statements, "the problem").points
    except ToolError as error:
        notes.append(f"cannot be solved as it is: {error}")
    cdl = words_in_cdl([*said, *goals], words, diagram.places)
    notes += [f"no words in CDL for {form}" for form in cdl.left_out]
    return Formal(
        logic_forms=tuple(dict.fromkeys(map(written, statements))),
        points=points_text({name: at for name, at in diagram.places.items() if name in named}),
        construction_cdl=construction_cdl_of(diagram),
        image_cdl=image_cdl_of(diagram),
        text_cdl=tuple(dict.fromkeys([*cdl.text, *cdl.construction])),
        goal_cdl=cdl.goal,
        notes=tuple(notes),
    )


def words_in_cdl(statements: Sequence[Call], words: Words, places: Places) -> Cdl:
    """Some statements of words in CDL, with what CDL cannot say without saying more.

    The picture tells which way angles and parallels go; without it, the figures that the words allow.
    """
    # Always of all the words: each part of them must go round the same way.
    every = in_full([*words.said, *words.goals, *statements])
    figures = figures_drawn(places) if places else figures_of_words(every[: -len(statements) or None])
    found: list[Call] = []
    left_out: list[str] = []
    for statement in every[len(every) - len(statements) :]:
        try:
            found += directed_parts(statement, figures) if figures else [statement]
        except AmbiguousDirectionError:
            left_out.append(f"{written(statement)}, whose direction is left open")
    cdl = cdl_of(found)
    return replace(cdl, left_out=(*cdl.left_out, *left_out))


def points_text(places: Places) -> str:
    """Points with their places in whole pixels: ``A(154,1) B(0,236)``."""
    return " ".join(f"{name}({at.real:.0f},{at.imag:.0f})" for name, at in sorted(places.items()))


def _filled_in(node: Call, diagram: Diagram, words: Words) -> Call:
    """The node with the circle that ``$`` stands for, and with three points for angles named by their corner."""
    filled = _full_form(node, diagram, words)
    assert isinstance(filled, Call)
    return filled


def _full_form(node: Node, diagram: Diagram, words: Words) -> Node:
    match node:
        case Call("Circle", (Name("$"),)) if len(diagram.circles) == 1:
            return Call("Circle", (Name(diagram.circles[0].centre),), node.at)
        case Call("Angle", (Name(vertex),)):
            arms = _arms(vertex, diagram, words)
            return Call("Angle", (Name(arms[0]), Name(vertex), Name(arms[1])), node.at) if arms else node
        case Call(name, args):
            return Call(name, tuple(_full_form(arg, diagram, words) for arg in args), node.at)
        case Operation(sign, args):
            return Operation(sign, tuple(_full_form(arg, diagram, words) for arg in args), node.at)
    return node


def _arms(vertex: str, diagram: Diagram, words: Words) -> tuple[str, str] | None:
    """The neighbours of a corner: in the one polygon that the words name, or by the two lines that end there."""
    found = set()
    for said in words.said:
        for node in walk(said):
            if _is_polygon(node) and vertex in (names := names_of(node)):
                at = names.index(vertex)
                found.add(tuple(sorted((names[at - 1], names[(at + 1) % len(names)]))))
    if not found:
        rays = [
            line[other]
            for line in diagram.lines
            if vertex in line
            for other in (line.index(vertex) - 1, line.index(vertex) + 1)
            if 0 <= other < len(line)
        ]
        found = {tuple(sorted(rays))} if len(rays) == 2 else set()
    if len(found) != 1:
        return None
    one, other_arm = next(iter(found))
    return one, other_arm
