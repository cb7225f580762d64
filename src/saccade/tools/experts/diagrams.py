"""Figures put into a formal language by a model, as DiagramFormalizer does; what cannot be read is refused."""

import re
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError
from saccade.readers.geometry.cdl import statements_of
from saccade.tools.experts.asking import asked, checked_question, without_fence
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json
from saccade.vision_models.requests import VisionModel

LANGUAGE = (
    "Use CDL, the condition language of FormalGeo. Construction: Shape(AB,BC,CA) for every closed region, "
    "counterclockwise, Collinear(ADB) for three or more points on a line, Cocircular(O,ABC) for points on the circle "
    "around O. Conditions: Equal(LengthOfLine(AB),5), Equal(MeasureOfAngle(ABC),40), "
    "ParallelBetweenLine(AB,CD), PerpendicularBetweenLine(AB,CB), RightTriangle(ABC), IsMidpointOfLine(M,AB), "
    "IsTangentOfCircle(PA,O). Goal: Value(LengthOfLine(AC)), Value(MeasureOfAngle(ABC)) or Value(x)."
)
PARTS = {
    "construction_cdl": "how the figure is built, without lengths and angles",
    "image_cdl": "the lengths, angles and marks that are written into the figure",
    "text_cdl": "what the words of the problem say",
    "goal_cdl": "what is asked, one Value(...)",
}
_LINE = re.compile(r"^[^\w\n]{0,8}(construction_cdl|image_cdl|text_cdl|goal_cdl)[^\w\n]{0,8}?[:=](.*)$", re.MULTILINE)


def formalize_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``formalize_problem`` over the model that is meant to write it."""

    def formalize_problem(
        image: Image.Image, question: Annotated[str, "the problem in words, with what is asked"]
    ) -> ToolOutput:
        """Put a geometry problem with its figure into CDL that solve_cdl takes; check it against the figure."""
        lines = "\n".join(f"{name}: {about}" for name, about in PARTS.items())
        prompt = (
            f"Put this geometry problem and its figure into a formal language. {LANGUAGE}\n\nProblem: "
            f"{checked_question(question, 'question')}\n\nWrite four lines, statements parted by commas:\n{lines}"
        )
        parts = _parts(asked(model, image, prompt))
        if not parts.get("goal_cdl"):
            raise ToolError("the model behind this tool wrote no goal_cdl; say in the question what is asked")
        return _output(parts, tuple(PARTS))

    return tool_from(formalize_problem, deadline_s)


def figure_tool(model: VisionModel, part: str, *, deadline_s: float) -> Tool:
    """``construction_cdl`` or ``image_cdl`` over the model that is meant to write it."""

    def read(image: Image.Image) -> ToolOutput:
        prompt = (
            f"Put this figure into a formal language. {LANGUAGE}\n\nWrite one line, statements parted by commas:\n"
            f"{part}: {PARTS[part]}"
        )
        parts = _parts(asked(model, image, prompt))
        if not parts.get(part):
            raise ToolError(f"the model behind this tool wrote no {part}; use another tool")
        return _output(parts, (part,))

    read.__name__ = part
    read.__doc__ = {
        "construction_cdl": "Read how the figure of a geometry problem is built, in CDL: shapes, lines, circles.",
        "image_cdl": "Read the lengths, angles and marks that are written into the figure of a problem, in CDL.",
    }[part]
    return tool_from(read, deadline_s)


def _parts(text: str) -> dict[str, str]:
    """The statements of each line, if they can be read."""
    parts = {name: said.strip().strip("`").rstrip(".") for name, said in _LINE.findall(without_fence(text))}
    for name, said in parts.items():
        if said in ("", "none", "None", "-"):
            parts[name] = ""
            continue
        try:
            statements_of(said, name)
        except ToolError as error:
            raise ToolError(f"the model behind this tool wrote CDL that cannot be read: {error}") from error
    return parts


def _output(parts: dict[str, str], names: tuple[str, ...]) -> ToolOutput:
    data: dict[str, Json] = {name: parts.get(name, "") for name in names}
    return ToolOutput(text="\n".join(f"{name}: {data[name]}" for name in names), data=data)
