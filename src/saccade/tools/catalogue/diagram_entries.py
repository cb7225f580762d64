"""Diagrams put into formal languages: by the reader of labelled figures that works offline, or by a model."""

from functools import partial

from saccade.tools.catalogue.entries import Entry, Make, Makers
from saccade.tools.catalogue.options import Options
from saccade.tools.catalogue.perception_entries import text_reader
from saccade.tools.catalogue.solver_entries import on_vision_model
from saccade.tools.tool import Tool, find_tool
from saccade.vision_models.requests import VisionModel

_WORDS = "In triangle ABC, AB = 3, BC = 4 and the angle ABC is 90 degrees. Find the length of AC."
_EXAMPLE = "diagram-formalizer"


def _outline(name: str) -> Tool:
    from saccade.tools.diagram_tools import DIAGRAM_TOOLS

    return find_tool(name, DIAGRAM_TOOLS)


def _offline(options: Options) -> Make:
    """Labels in plain upright type are read without an engine; ``engine`` names one for others."""
    options.need_package("cv2", extra="ocr")
    options.need_package("sympy", extra="geometry")
    engine = options.choice("engine", ("none", "rapidocr", "tesseract", "easyocr"), "none")
    reader = None if engine == "none" else text_reader(options)

    def make() -> Tool:
        from saccade.tools.diagram_tools import diagram_tools

        return find_tool(options.name, diagram_tools(reader))

    return make


def _formalize(model: VisionModel, deadline_s: float) -> Tool:
    from saccade.tools.experts.diagrams import formalize_tool

    return formalize_tool(model, deadline_s=deadline_s)


def _figure(name: str) -> Makers:
    def make(model: VisionModel, deadline_s: float) -> Tool:
        from saccade.tools.experts.diagrams import figure_tool

        return figure_tool(model, name, deadline_s=deadline_s)

    return on_vision_model(make, example=_EXAMPLE)


DIAGRAMS = (
    Entry(
        name="construction_cdl",
        family="diagrams",
        summary="Reads how a figure is built, in CDL",
        source="VISTA-Gym appendix B, CDL (construction_cdl; DiagramFormalizer's ConsCDL)",
        makers={"in_process": _offline, **_figure("construction_cdl")},
        outline=partial(_outline, "construction_cdl"),
        example={},
    ),
    Entry(
        name="image_cdl",
        family="diagrams",
        summary="Reads the lengths, angles and marks that are written into a figure, in CDL",
        source="VISTA-Gym appendix B, CDL (image_cdl; DiagramFormalizer's ImgCDL)",
        makers={"in_process": _offline, **_figure("image_cdl")},
        outline=partial(_outline, "image_cdl"),
        example={},
    ),
    Entry(
        name="text_cdl",
        family="diagrams",
        summary="Puts the words of a geometry problem into CDL",
        source="VISTA-Gym appendix B, CDL (text_cdl)",
        makers={"in_process": _offline},
        outline=partial(_outline, "text_cdl"),
        example={"question": _WORDS},
    ),
    Entry(
        name="goal_cdl",
        family="diagrams",
        summary="Puts what a geometry problem asks into CDL",
        source="VISTA-Gym appendix B, CDL (goal_cdl)",
        makers={"in_process": _offline},
        outline=partial(_outline, "goal_cdl"),
        example={"question": _WORDS},
    ),
    Entry(
        name="parse_diagram",
        family="diagrams",
        summary="Reads a figure as Inter-GPS logic forms with the places of its points",
        source="VISTA-Gym appendix B, Symbolic Parsing (Inter-GPS)",
        makers={"in_process": _offline},
        outline=partial(_outline, "parse_diagram"),
        example={},
    ),
    Entry(
        name="formalize_problem",
        family="diagrams",
        summary="Puts a problem and its figure into a form that a solver takes",
        source="VISTA-Gym appendix B, Symbolic Parsing (DiagramFormalizer)",
        makers={"in_process": _offline, **on_vision_model(_formalize, example=_EXAMPLE)},
        outline=partial(_outline, "formalize_problem"),
        example={"question": _WORDS},
    ),
)
