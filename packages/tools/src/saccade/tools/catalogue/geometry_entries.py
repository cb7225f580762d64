"""Geometry in the catalogue: diagrams put into formal languages, and solvers of geometry, algebra and mathematics.

All work offline but those with a model behind them, which were trained on mathematics.
"""

from collections.abc import Callable, Mapping
from functools import partial

from saccade.tools.catalogue.entries import Entry, Make, Makers, Prepare, Unconfigured
from saccade.tools.catalogue.models import local_vision_model, patience_s, server_vision_model
from saccade.tools.catalogue.perception_entries import text_reader
from saccade.tools.catalogue.settings import Options
from saccade.tools.tool import Tool, find_tool
from saccade.types import Json
from saccade.vision_models.kinds import VisionModel


def on_vision_model(make_tool: Callable[[VisionModel, float], Tool], *, example: str) -> Makers:
    """The back ends ``openai`` and ``transformers`` of a tool that asks a vision-language model."""

    def at_server(options: Options) -> Make:
        model, deadline_s = server_vision_model(options, example=example), patience_s(options)
        return lambda: make_tool(model(), deadline_s)

    def here(options: Options) -> Make:
        model, deadline_s = local_vision_model(options), patience_s(options)
        return lambda: make_tool(model(), deadline_s)

    return {"openai": at_server, "transformers": here}


def _geometry_tool(name: str) -> Tool:
    from saccade.tools.geometry_tools import GEOMETRY_TOOLS

    return find_tool(name, GEOMETRY_TOOLS)


def _geometry(name: str) -> Prepare:
    def prepare(options: Options) -> Make:
        options.need_package("sympy", extra="readers")

        return partial(_geometry_tool, name)

    return prepare


def _g_llava(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts import g_llava_tool

    return g_llava_tool(model, deadline_s=deadline_s)


def _multimath(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts import multimath_tool

    return multimath_tool(model, deadline_s=deadline_s)


_TRIANGLE = (
    "Triangle(A,B,C)\nPerpendicular(Line(A,B),Line(B,C))\nEquals(LengthOf(Line(A,B)),3)\n"
    "Equals(LengthOf(Line(B,C)),4)\nFind(LengthOf(Line(A,C)))"
)
_EXAMPLES: Mapping[str, Mapping[str, Json]] = {
    "solve_geometry": {"logic_forms": _TRIANGLE},
    "solve_cdl": {
        "construction_cdl": "Shape(AB,BC,CA)",
        "text_cdl": "RightTriangle(ABC), Equal(LengthOfLine(AB),3), Equal(LengthOfLine(BC),4)",
        "goal_cdl": "Value(LengthOfLine(AC))",
    },
    "check_logic_forms": {"logic_forms": _TRIANGLE},
    "translate_geometry": {"text": _TRIANGLE, "to": "cdl"},
    "algebra": {"task": "solve", "equations": "2x + y = 5\nx - y = 1"},
}
_GEOMETRY = {
    "solve_geometry": (
        "Solves a problem in Inter-GPS logic forms, with its steps, or says that it is not determined",
        "VISTA-Gym appendix B (Inter-GPS); solver of Saccade",
    ),
    "solve_cdl": (
        "Solves a problem in CDL, with its steps, or says that it is not determined",
        "VISTA-Gym appendix B (CDL for symbolic solvers; FormalGeo's language); solver of Saccade",
    ),
    "check_logic_forms": (
        "Says what was understood of logic forms, or the first mistake in them",
        "VISTA-Gym's code (intergps, task verify); parser of Saccade",
    ),
    "translate_geometry": ("Translates a problem between logic forms and CDL", "Saccade's own"),
    "algebra": (
        "Solves equations exactly; simplifies, expands, factors, evaluates",
        "VISTA-Gym's code (sympy_geometry); sympy",
    ),
}

SOLVERS = (
    *(
        Entry(
            name=name,
            family="solvers",
            summary=summary,
            source=source,
            makers={"in_process": _geometry(name)},
            outline=partial(_geometry_tool, name),
            example=_EXAMPLES[name],
        )
        for name, (summary, source) in _GEOMETRY.items()
    ),
    Entry(
        name="g_llava",
        family="solvers",
        summary="Asks a model trained on geometry to solve or analyse a problem",
        source="VISTA-Gym appendix B (G-LLaVA)",
        makers=on_vision_model(_g_llava, example="g-llava-13b"),
        outline=lambda: _g_llava(Unconfigured(), 60.0),
        example={"problem": "AB is 3 and BC is 4; the angle at B is right. How long is AC?"},
    ),
    Entry(
        name="multimath",
        family="solvers",
        summary="Asks a model trained on mathematics to solve or explain a problem",
        source="VISTA-Gym appendix B (MultiMath)",
        makers=on_vision_model(_multimath, example="multimath-7b"),
        outline=lambda: _multimath(Unconfigured(), 60.0),
        example={"problem": "AB is 3 and BC is 4; the angle at B is right. How long is AC?", "task": "explain"},
    ),
)


_WORDS = "In triangle ABC, AB = 3, BC = 4 and the angle ABC is 90 degrees. Find the length of AC."
_EXAMPLE = "diagram-formalizer"


def _outline(name: str) -> Tool:
    from saccade.tools.diagram_tools import DIAGRAM_TOOLS

    return find_tool(name, DIAGRAM_TOOLS)


def _offline(options: Options) -> Make:
    """Labels in plain upright type are read without an engine; ``engine`` names one for others."""
    options.need_package("cv2", extra="readers")
    options.need_package("sympy", extra="readers")
    engine = options.choice("engine", ("none", "rapidocr", "tesseract", "easyocr"), "none")
    reader = None if engine == "none" else text_reader(options)

    def make() -> Tool:
        from saccade.tools.diagram_tools import diagram_tools

        return find_tool(options.name, diagram_tools(reader))

    return make


def _formalize(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts import formalize_tool

    return formalize_tool(model, deadline_s=deadline_s)


def _figure(name: str) -> Makers:
    def make(model: VisionModel, deadline_s: float) -> Tool:
        from saccade.tools.experts import figure_tool

        return figure_tool(model, name, deadline_s=deadline_s)

    return on_vision_model(make, example=_EXAMPLE)


def _diagram(name: str, summary: str, source: str, models: Makers | None = None, **example: Json) -> Entry:
    return Entry(
        name=name,
        family="diagrams",
        summary=summary,
        source=f"VISTA-Gym appendix B, {source}",
        makers={"in_process": _offline, **(models or {})},
        outline=partial(_outline, name),
        example=example,
    )


DIAGRAMS = (
    _diagram(
        "construction_cdl",
        "Reads how a figure is built, in CDL",
        "CDL (construction_cdl; DiagramFormalizer's ConsCDL)",
        _figure("construction_cdl"),
    ),
    _diagram(
        "image_cdl",
        "Reads the lengths, angles and marks that are written into a figure, in CDL",
        "CDL (image_cdl; DiagramFormalizer's ImgCDL)",
        _figure("image_cdl"),
    ),
    _diagram("text_cdl", "Puts the words of a geometry problem into CDL", "CDL (text_cdl)", question=_WORDS),
    _diagram("goal_cdl", "Puts what a geometry problem asks into CDL", "CDL (goal_cdl)", question=_WORDS),
    _diagram(
        "parse_diagram",
        "Reads a figure as Inter-GPS logic forms with the places of its points",
        "Symbolic Parsing (Inter-GPS)",
    ),
    _diagram(
        "formalize_problem",
        "Puts a problem and its figure into a form that a solver takes",
        "Symbolic Parsing (DiagramFormalizer)",
        on_vision_model(_formalize, example=_EXAMPLE),
        question=_WORDS,
    ),
)
