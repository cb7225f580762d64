"""Expert tools: another vision-language model answers a request, and may be wrong.

Charts as a table, a caption or an answer; figures put into CDL as DiagramFormalizer does (CDL that cannot be read is
refused); problems of mathematics for G-LLaVA and MultiMath.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from PIL import Image

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.table import parse_deplot, parse_unichart
from saccade.readers.geometry.cdl import statements_of
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json
from saccade.vision_models.kinds import ChartModel, ChartRequest, VisionModel

_ANSWER = re.compile(r"^[^\w\n]{0,8}(?:final )?answer[^\w\n]{0,8}?[:=](.+)$", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"<(?=[|/A-Za-z])")
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)

MAX_ANSWER_CHARS = 12_000


def model_answer(model: VisionModel, image: Image.Image, prompt: str) -> str:
    """The model's answer, cut to what a result may hold; ``ToolError`` when it says nothing."""
    text = model.answer(image, prompt)
    if not text:
        raise ToolError("the model behind this tool said nothing; ask in other words, or use another tool")
    return text[:MAX_ANSWER_CHARS]


def stated_answer(text: str) -> str | None:
    """The text after ``Answer:`` on the last such line."""
    found = _ANSWER.findall(text)
    return found[-1].strip(" *").rstrip(".")[:200] or None if found else None


def without_fence(text: str) -> str:
    """The text between the first pair of code fences, or the whole text."""
    fenced = _FENCE.search(text)
    return (fenced.group(1) if fenced else text).strip()


def checked_question(text: str, name: str) -> str:
    """``ToolError`` when a question holds no word."""
    if not any(character.isalnum() for character in text):
        raise ToolError(f"{name} is empty; write what you want to know")
    # A model's own marks, such as that of an image, must not come from a question.
    return " ".join(_MARK.sub("< ", text).split())


TABLE_PROMPT = (
    "Write the data of this chart as a table in Markdown. The first row names the columns: first what the categories "
    "are, then each series. Each further row is one category with its values, as numbers without units and without "
    "thousands separators. Read values off the axis where none are printed. Write the table and nothing else."
)
CAPTION_PROMPT = (
    "Describe this chart in three to five sentences: its kind and subject, its axes with their units, which colour "
    "stands for which series, the highest and the lowest values, and how the values run. Say only what can be seen."
)
ANSWER_PROMPT = (
    "Answer a question about this chart. First write which values of the chart the question needs, then how the answer "
    "follows from them. Put the answer on a last line of its own that begins with 'Answer:'.\n\nQuestion: {question}"
)
_RULE = re.compile(r"[\s|:+-]*")


class ChartTeller(Protocol):
    """Tells of a chart in words."""

    def caption(self, image: Image.Image) -> str: ...

    def answer(self, image: Image.Image, question: str) -> str: ...


@dataclass(frozen=True, slots=True)
class ModelChartReader:
    """A ``ChartReader`` that is a chart model such as DePlot or UniChart."""

    model: ChartModel

    def read(self, image: Image.Image) -> Chart:
        (text,) = self.model.tell_batch([ChartRequest(image=image, task="table")])
        return _parsed_table(text)


@dataclass(frozen=True, slots=True)
class VisionChartReader:
    """A ``ChartReader`` that is a vision-language model which is asked for a table."""

    model: VisionModel

    def read(self, image: Image.Image) -> Chart:
        return _parsed_table(plain_rows(without_fence(model_answer(self.model, image, TABLE_PROMPT))))


@dataclass(frozen=True, slots=True)
class ModelChartTeller:
    """A ``ChartTeller`` that is a chart model such as UniChart."""

    model: ChartModel

    def caption(self, image: Image.Image) -> str:
        return self._tell(ChartRequest(image=image, task="caption"))

    def answer(self, image: Image.Image, question: str) -> str:
        return self._tell(ChartRequest(image=image, task="answer", question=question))

    def _tell(self, request: ChartRequest) -> str:
        (text,) = self.model.tell_batch([request])
        if not text:
            raise ToolError("the model behind this tool said nothing; use another tool")
        return text


@dataclass(frozen=True, slots=True)
class VisionChartTeller:
    """A ``ChartTeller`` that is a vision-language model."""

    model: VisionModel

    def caption(self, image: Image.Image) -> str:
        return model_answer(self.model, image, CAPTION_PROMPT)

    def answer(self, image: Image.Image, question: str) -> str:
        return model_answer(self.model, image, ANSWER_PROMPT.replace("{question}", question))


def caption_tool(teller: ChartTeller, *, deadline_s: float) -> Tool:
    """``chart_caption`` in a model's own words."""

    def chart_caption(image: Image.Image) -> ToolOutput:
        """Describe a chart in a few sentences: kind, axes, colours, extremes, trend."""
        return ToolOutput(text=teller.caption(image))

    return tool_from(chart_caption, deadline_s)


def answer_tool(teller: ChartTeller, *, deadline_s: float) -> Tool:
    """``answer_chart`` in a model's own words."""

    def answer_chart(
        image: Image.Image, question: Annotated[str, "about values of the chart, in plain words"]
    ) -> ToolOutput:
        """Answer a question about the values that a chart shows."""
        text = teller.answer(image, checked_question(question, "question"))
        return ToolOutput(text=text, data={"answer": stated_answer(text) or text[:200]})

    return tool_from(answer_chart, deadline_s)


def plain_rows(markdown: str) -> str:
    """The rows of a Markdown table without its outer bars and its rule."""
    rows = [line.strip().strip("|").strip() for line in markdown.splitlines() if "|" in line]
    return "\n".join(row for row in rows if not _RULE.fullmatch(row))


def _parsed_table(text: str) -> Chart:
    try:
        return parse_unichart(text) if "&&" in text else parse_deplot(text)
    except ToolError as error:
        raise ToolError(f"the model behind this tool wrote no table that can be read: {error}") from error


CDL_LANGUAGE = (
    "Use CDL, the condition language of FormalGeo. Construction: Shape(AB,BC,CA) for every closed region, "
    "counterclockwise, Collinear(ADB) for three or more points on a line, Cocircular(O,ABC) for points on the circle "
    "around O. Conditions: Equal(LengthOfLine(AB),5), Equal(MeasureOfAngle(ABC),40), "
    "ParallelBetweenLine(AB,CD), PerpendicularBetweenLine(AB,CB), RightTriangle(ABC), IsMidpointOfLine(M,AB), "
    "IsTangentOfCircle(PA,O). Goal: Value(LengthOfLine(AC)), Value(MeasureOfAngle(ABC)) or Value(x)."
)
CDL_PARTS = {
    "construction_cdl": "how the figure is built, without lengths and angles",
    "image_cdl": "the lengths, angles and marks that are written into the figure",
    "text_cdl": "what the words of the problem say",
    "goal_cdl": "what is asked, one Value(...)",
}
_CDL_LINE = re.compile(
    r"^[^\w\n]{0,8}(construction_cdl|image_cdl|text_cdl|goal_cdl)[^\w\n]{0,8}?[:=](.*)$", re.MULTILINE
)


def formalize_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``formalize_problem`` over the model that writes it."""

    def formalize_problem(
        image: Image.Image, question: Annotated[str, "the problem in words, with what is asked"]
    ) -> ToolOutput:
        """Put a geometry problem with its figure into CDL that solve_cdl takes; check it against the figure."""
        lines = "\n".join(f"{name}: {about}" for name, about in CDL_PARTS.items())
        prompt = (
            f"Put this geometry problem and its figure into a formal language. {CDL_LANGUAGE}\n\nProblem: "
            f"{checked_question(question, 'question')}\n\nWrite four lines, statements parted by commas:\n{lines}"
        )
        parts = _cdl_parts(model_answer(model, image, prompt))
        if not parts.get("goal_cdl"):
            raise ToolError("the model behind this tool wrote no goal_cdl; say in the question what is asked")
        return _cdl_output(parts, tuple(CDL_PARTS))

    return tool_from(formalize_problem, deadline_s)


def figure_tool(model: VisionModel, part: str, *, deadline_s: float) -> Tool:
    """``construction_cdl`` or ``image_cdl`` over the model that writes it."""

    def read(image: Image.Image) -> ToolOutput:
        prompt = (
            f"Put this figure into a formal language. {CDL_LANGUAGE}\n\nWrite one line, statements parted by commas:\n"
            f"{part}: {CDL_PARTS[part]}"
        )
        parts = _cdl_parts(model_answer(model, image, prompt))
        if not parts.get(part):
            raise ToolError(f"the model behind this tool wrote no {part}; use another tool")
        return _cdl_output(parts, (part,))

    read.__name__ = part
    read.__doc__ = {
        "construction_cdl": "Read how the figure of a geometry problem is built, in CDL: shapes, lines, circles.",
        "image_cdl": "Read the lengths, angles and marks that are written into the figure of a problem, in CDL.",
    }[part]
    return tool_from(read, deadline_s)


def _cdl_parts(text: str) -> dict[str, str]:
    """The statements of each line, if they can be read."""
    parts = {name: said.strip().strip("`").rstrip(".") for name, said in _CDL_LINE.findall(without_fence(text))}
    for name, said in parts.items():
        if said in ("", "none", "None", "-"):
            parts[name] = ""
            continue
        try:
            statements_of(said, name)
        except ToolError as error:
            raise ToolError(f"the model behind this tool wrote CDL that cannot be read: {error}") from error
    return parts


def _cdl_output(parts: dict[str, str], names: tuple[str, ...]) -> ToolOutput:
    data: dict[str, Json] = {name: parts.get(name, "") for name in names}
    return ToolOutput(text="\n".join(f"{name}: {data[name]}" for name in names), data=data)


SolverTask = Literal["solve", "analyze", "explain"]
Problem = Annotated[str, "the whole problem in words, with its numbers and what is asked"]

_WANTED = {
    "solve": "Work the problem out step by step. Put the result on a last line of its own that begins with 'Answer:'.",
    "analyze": "Do not solve it yet. List what the figure shows and what the text gives, then the relations that lead "
    "from these to what is asked.",
    "explain": "Explain, so that a pupil understands it, which facts and theorems the solution needs and why they hold "
    "here. Put the result on a last line of its own that begins with 'Answer:'.",
}


def g_llava_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``g_llava`` over the model that answers."""

    def g_llava(
        image: Image.Image,
        problem: Problem,
        task: Annotated[Literal["solve", "analyze"], "a solution, or only what is given and how it hangs together"] = (
            "solve"
        ),
    ) -> ToolOutput:
        """Ask a model trained on geometry to solve or analyse a problem with a figure; check what it says."""
        return _solution(model, image, "This is a problem of plane geometry with its figure.", problem, task)

    return tool_from(g_llava, deadline_s)


def multimath_tool(model: VisionModel, *, deadline_s: float) -> Tool:
    """``multimath`` over the model that answers."""

    def multimath(
        image: Image.Image,
        problem: Problem,
        task: Annotated[Literal["solve", "analyze", "explain"], "what to do with the problem"] = "solve",
    ) -> ToolOutput:
        """Ask a model trained on mathematics with pictures to solve or explain a problem; check what it says."""
        return _solution(model, image, "This is a problem of mathematics with its picture.", problem, task)

    return tool_from(multimath, deadline_s)


def _solution(model: VisionModel, image: Image.Image, intro: str, problem: str, task: SolverTask) -> ToolOutput:
    prompt = f"{intro}\n\nProblem: {checked_question(problem, 'problem')}\n\n{_WANTED[task]}"
    text = model_answer(model, image, prompt)
    return ToolOutput(text=text, data={"task": task, "answer": stated_answer(text)})
