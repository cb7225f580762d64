"""A picture and its question as one problem, in logic forms and in CDL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.errors import ToolError
from saccade.readers.diagrams.diagram import Diagram
from saccade.readers.diagrams.orientation import (
    OpenWayError,
    figures_drawn,
    figures_of_words,
    in_full,
    ordered,
)
from saccade.readers.diagrams.statements import construction_cdl_of, image_cdl_of, logic_forms_of
from saccade.readers.diagrams.words import Words
from saccade.readers.geometry.cdl_writing import Cdl, cdl_of
from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import Call, Name, Node, Operation, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS
from saccade.readers.geometry.writing import written

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
    """What was left out or made up, and what keeps the problem from being solved."""


def formalized(diagram: Diagram, words: Words) -> Formal:
    """What the picture shows and the words say, together."""
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
            found += ordered(statement, figures) if figures else [statement]
        except OpenWayError:
            left_out.append(f"{written(statement)}, whose direction is left open")
    cdl = cdl_of(found)
    return replace(cdl, left_out=(*cdl.left_out, *left_out))


def points_text(places: Places) -> str:
    """Points with their places in whole pixels: ``A(154,1) B(0,236)``."""
    return " ".join(f"{name}({at.real:.0f},{at.imag:.0f})" for name, at in sorted(places.items()))


def _filled_in(node: Call, diagram: Diagram, words: Words) -> Call:
    """With the circle that ``$`` stands for, and with three points for angles that are named by their corner."""
    filled = _replaced(node, diagram, words)
    assert isinstance(filled, Call)
    return filled


def _replaced(node: Node, diagram: Diagram, words: Words) -> Node:
    match node:
        case Call("Circle", (Name("$"),)) if len(diagram.circles) == 1:
            return Call("Circle", (Name(diagram.circles[0].centre),), node.at)
        case Call("Angle", (Name(vertex),)):
            arms = _arms(vertex, diagram, words)
            return Call("Angle", (Name(arms[0]), Name(vertex), Name(arms[1])), node.at) if arms else node
        case Call(name, args):
            return Call(name, tuple(_replaced(arg, diagram, words) for arg in args), node.at)
        case Operation(sign, args):
            return Operation(sign, tuple(_replaced(arg, diagram, words) for arg in args), node.at)
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


def _is_polygon(node: Node) -> bool:
    return (
        isinstance(node, Call)
        and node.name in CORNERS
        and all(isinstance(arg, Name) and arg.text != "$" for arg in node.args)
    )
