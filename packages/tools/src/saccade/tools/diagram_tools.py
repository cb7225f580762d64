"""Diagram tools: a picture and its words read into CDL and logic forms, which the solvers take."""

from collections.abc import Callable, Sequence
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError
from saccade.readers.diagrams.diagram import read_diagram
from saccade.readers.diagrams.formalize import formalized, points_text, words_in_cdl
from saccade.readers.diagrams.statements import construction_cdl_of, image_cdl_of, logic_forms_of
from saccade.readers.diagrams.words import read_words
from saccade.readers.text.lines import TextReader
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json

DEADLINE_S = 20.0

Question = Annotated[
    str,
    'the words of the problem, such as "In triangle ABC, AB = 5 and angle ABC is 30 degrees. DE is parallel to BC. '
    'M is the midpoint of AB. Find the length of AC."',
]


def text_cdl(question: Question) -> ToolOutput:
    """What the words of a geometry problem say, in CDL; says what it did not understand."""
    words = read_words(question)
    cdl = words_in_cdl(words.said, words, {})
    forms = list(dict.fromkeys([*cdl.text, *cdl.construction]))
    notes = [*_not_understood(words.left_out), *(f"no words in CDL for {form}" for form in cdl.left_out)]
    if not forms and not notes:
        notes = ["the words say nothing but what is asked"]
    return _parts_output({"text_cdl": forms}, notes)


def goal_cdl(question: Question) -> ToolOutput:
    """What a geometry problem asks for, in CDL; says what it did not understand."""
    words = read_words(question)
    if not words.goals:
        parts = "; ".join(f'"{part}"' for part in words.left_out)
        left = f"; not understood: {parts}" if parts else ""
        raise ToolError(
            f'question asks for nothing that was understood; write "Find the length of AC" or "Find x"{left}'
        )
    goals: list[str] = []
    notes: list[str] = []
    for goal in words.goals:
        cdl = words_in_cdl([goal], words, {})
        goals += [cdl.goal] if cdl.goal else []
        notes += [f"no words in CDL for {form}; name an angle by three points" for form in cdl.left_out]
    return _parts_output({"goal_cdl": goals}, [*notes, *_not_understood(words.left_out)])


def diagram_tools(reader: TextReader | None = None) -> tuple[Tool, ...]:
    """The tools; a ``reader`` reads labels in type that is not plain print, as ``RapidReader`` does."""

    def construction_cdl(image: Image.Image) -> ToolOutput:
        """The construction of a geometry diagram in CDL: shapes, points on one line, points on a circle."""
        diagram = read_diagram(image, reader)
        return _parts_output(
            {"construction_cdl": construction_cdl_of(diagram), "points": points_text(diagram.places)}, diagram.notes
        )

    def image_cdl(image: Image.Image) -> ToolOutput:
        """What is printed and marked in a geometry diagram, in CDL: lengths, angles, right angles, equal parts."""
        diagram = read_diagram(image, reader)
        return _parts_output({"image_cdl": image_cdl_of(diagram), "points": points_text(diagram.places)}, diagram.notes)

    def parse_diagram(image: Image.Image) -> ToolOutput:
        """A geometry diagram in logic forms, and where its points are."""
        diagram = read_diagram(image, reader)
        return _parts_output(
            {"logic_forms": logic_forms_of(diagram), "points": points_text(diagram.places)}, diagram.notes
        )

    def formalize_problem(image: Image.Image, question: Question) -> ToolOutput:
        """A diagram and its question as one problem: logic forms and points for solve_geometry, CDL for solve_cdl."""
        formal = formalized(read_diagram(image, reader), read_words(question))
        parts: dict[str, str | Sequence[str]] = {
            "logic_forms": formal.logic_forms,
            "points": formal.points,
            "construction_cdl": formal.construction_cdl,
            "image_cdl": formal.image_cdl,
            "text_cdl": formal.text_cdl,
            "goal_cdl": formal.goal_cdl,
        }
        return _parts_output(parts, formal.notes)

    functions: tuple[Callable[..., ToolOutput], ...] = (
        construction_cdl,
        image_cdl,
        text_cdl,
        goal_cdl,
        parse_diagram,
        formalize_problem,
    )
    return tuple(tool_from(function, DEADLINE_S) for function in functions)


DIAGRAM_TOOLS = diagram_tools()
"""Diagram tools without a text reader, for labels in plain upright type."""


def _parts_output(parts: dict[str, str | Sequence[str]], notes: Sequence[str]) -> ToolOutput:
    """The parts as lines of text and as data, the notes below."""
    lines, data = list[str](), dict[str, Json]()
    for name, part in parts.items():
        text = part if isinstance(part, str) else ", ".join(part)
        lines.append(f"{name}: {text or '(none)'}")
        data[name] = part if isinstance(part, str) else list(part)
    lines += [f"note: {note}" for note in notes]
    return ToolOutput(text="\n".join(lines), data={**data, "notes": list(notes)})


def _not_understood(parts: Sequence[str]) -> list[str]:
    return [f'not understood: "{part}"' for part in parts]
