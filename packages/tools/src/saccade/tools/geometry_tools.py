"""Geometry tools: solve, check and translate problems in the public languages, and plain algebra."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from saccade.errors import ToolError
from saccade.readers.geometry.algebra import AlgebraTask, do_algebra
from saccade.readers.geometry.cdl import cdl_of, statements_of
from saccade.readers.geometry.configuration import Place
from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.solver import SolverAnswer, contradiction_text, solve
from saccade.readers.geometry.terms import Call, written
from saccade.tools.tool import ToolOutput, tool_from
from saccade.types import Json

DEADLINE_S = 30.0

LogicForms = Annotated[
    str,
    "statements such as Equals(LengthOf(Line(A,B)),2x+1), Equals(MeasureOf(Angle(A,B,C)),40), Triangle(A,B,C), "
    "PointLiesOnLine(D,Line(A,B)), PointLiesOnCircle(A,Circle(O)), Parallel(Line(A,B),Line(C,D)), Perpendicular, "
    "Tangent(Line(P,T),Circle(O)), IsMidpointOf(M,Line(A,B)), Similar(Triangle(A,B,C),Triangle(D,E,F)), and a goal "
    "Find(x)",
]
_PLACE = re.compile(
    r"([A-Za-z][A-Za-z0-9_]{0,15}'?)[ ]?[:=(]{0,2}[ ]?\(?"
    r"(-?[0-9]{1,7}(?:\.[0-9]{0,9})?)[ ]?,[ ]?(-?[0-9]{1,7}(?:\.[0-9]{0,9})?)\)?",
    re.ASCII,
)
_BETWEEN_PLACES = re.compile(r"[\s,;]*")
_UNKNOWN = re.compile(r"[A-Za-z\u0391-\u03c9][A-Za-z0-9_\u0391-\u03c9]{0,20}")


def solve_geometry(
    logic_forms: LogicForms,
    points: Annotated[str, "where the diagram shows the points, in pixels, such as A(154,1) B(0,236) C(152,237)"] = "",
) -> ToolOutput:
    """Solve a plane geometry problem in logic forms: steps with their theorems, the answer, or "not determined"."""
    statements = parse_statements(logic_forms, "logic_forms")
    return _answers_output(solve(statements, _places(points), "logic_forms"))


def solve_cdl(
    construction_cdl: Annotated[str, "such as Shape(AB,BC,CA), Collinear(ADB), Cocircular(O,ABC); counterclockwise"],
    text_cdl: Annotated[str, "such as Equal(LengthOfLine(AB),5), ParallelBetweenLine(DE,BC), RightTriangle(ABC)"],
    goal_cdl: Annotated[str, "what is asked, such as Value(LengthOfLine(AC)) or Value(x)"],
    image_cdl: Annotated[str, "what the diagram shows, in the words of text_cdl"] = "",
) -> ToolOutput:
    """Solve a plane geometry problem in CDL: steps with their theorems, the answer, or "not determined"."""
    goal = statements_of(goal_cdl, "goal_cdl")
    # An angle that is asked for also says which way it goes round.
    if [said.name for said in goal if said.name != "Counterclockwise"] != ["Find"]:
        raise ToolError("goal_cdl must be one goal such as Value(x) or Value(MeasureOfAngle(ABC))")
    parts = {"construction_cdl": construction_cdl, "text_cdl": text_cdl, "image_cdl": image_cdl}
    statements = [said for name, text in parts.items() for said in statements_of(text, name)]
    answers = solve([*dict.fromkeys([*statements, *goal])], None, "the problem")
    if answers[0].verdict == "inconsistent":
        raise ToolError(contradiction_text({**parts, "goal_cdl": goal_cdl}, answers[0].broken))
    return _answers_output(answers)


def check_logic_forms(logic_forms: LogicForms) -> ToolOutput:
    """Check logic forms without solving: says the first mistake and its place, or lists what was understood."""
    statements = parse_statements(logic_forms, "logic_forms")
    figure = figure_of(statements, "logic_forms")
    said = [written(statement) for statement in figure.given]
    goals = [f"Find({written(goal)})" for goal in figure.goals]
    lines = [*said, *goals, f"points: {', '.join(figure.points) or 'none'}"]
    lines.append(f"unknowns: {', '.join(figure.symbols) or 'none'}")
    if not goals:
        lines.append("nothing is asked yet; add Find(...)")
    data: dict[str, Json] = {
        "statements": said,
        "goals": goals,
        "points": list(figure.points),
        "unknowns": list(figure.symbols),
    }
    return ToolOutput(text="\n".join(lines), data=data)


def translate_geometry(
    text: Annotated[str, "the problem, in logic forms or in CDL"],
    to: Annotated[Literal["cdl", "logic_forms"], "the language to translate to"],
) -> ToolOutput:
    """Translate a geometry problem between logic forms and CDL."""
    if to == "logic_forms":
        statements = statements_of(text, "text")
        figure_of(statements, "text")
        forms = [written(statement) for statement in statements]
        return ToolOutput(text="\n".join(forms), data={"logic_forms": forms})
    return _in_cdl(parse_statements(text, "text"))


def algebra(
    task: Annotated[AlgebraTask, "what to do"],
    equations: Annotated[str, "equations or expressions, one on a line, such as 2x + y = 5; angles are in degrees"],
    unknowns: Annotated[str, "for solve: the names to solve for, such as x, y; all of them when left out"] = "",
) -> ToolOutput:
    """Solve equations exactly, or simplify, expand, factor or evaluate expressions."""
    names = tuple(unknowns.replace(",", " ").split())
    for name in names:
        if not _UNKNOWN.fullmatch(name):
            raise ToolError("unknowns must be names such as x, y")
    result = do_algebra(task, equations, names)
    return ToolOutput(text=result.text, data={"values": result.values})


GEOMETRY_TOOLS = tuple(
    tool_from(function, DEADLINE_S)
    for function in (solve_geometry, solve_cdl, check_logic_forms, translate_geometry, algebra)
)


def _answers_output(answers: Sequence[SolverAnswer]) -> ToolOutput:
    items: list[Json] = [
        {
            "goal": answer.goal,
            "verdict": answer.verdict,
            "value": answer.value,
            "exact": answer.exact,
            "values": list(answer.values),
            "steps": list(answer.steps),
            "broken": list(answer.broken),
        }
        for answer in answers
    ]
    texts = list(dict.fromkeys(answer.text for answer in answers))
    return ToolOutput(text="\n\n".join(texts), data={"answers": items})


def _in_cdl(statements: Sequence[Call]) -> ToolOutput:
    figure = figure_of(statements, "text")
    goals = [Call("Find", (goal,)) for goal in figure.goals]
    cdl = cdl_of([*figure.given, *goals])
    lines = [
        f"construction_cdl: {', '.join(cdl.construction)}",
        f"text_cdl: {', '.join(cdl.text)}",
        f"goal_cdl: {cdl.goal}",
    ]
    if cdl.left_out:
        lines.append(f"no words in CDL for: {', '.join(cdl.left_out)}")
    data: dict[str, Json] = {
        "construction_cdl": list(cdl.construction),
        "text_cdl": list(cdl.text),
        "goal_cdl": cdl.goal,
        "left_out": list(cdl.left_out),
    }
    return ToolOutput(text="\n".join(lines), data=data)


def _places(text: str) -> dict[str, Place]:
    """Places by point, with y upwards; images count y downwards."""
    places: dict[str, Place] = {}
    start = 0
    while start < len(text):
        space = _BETWEEN_PLACES.match(text, start)
        start = space.end() if space else start
        if start >= len(text):
            break
        match = _PLACE.match(text, start)
        if match is None:
            raise ToolError(f"points, character {start + 1}: expected a place such as A(154,1)")
        name, x, y = match.groups()
        if name in places:
            raise ToolError(f"points gives two places for {name}")
        places[name] = (float(x), -float(y))
        start = match.end()
    return places
