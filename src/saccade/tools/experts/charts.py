"""Charts read by models: a table as a ``ChartReader``, and captions and answers in the model's own words."""

import re
from dataclasses import dataclass
from typing import Annotated, Protocol

from PIL import Image

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.linearised import parse_deplot, parse_unichart
from saccade.tools.experts.asking import asked, checked_question, stated_answer, without_fence
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.vision_models.requests import ChartModel, ChartRequest, VisionModel

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
        return _parsed(text)


@dataclass(frozen=True, slots=True)
class VisionChartReader:
    """A ``ChartReader`` that is a vision-language model which is asked for a table."""

    model: VisionModel

    def read(self, image: Image.Image) -> Chart:
        return _parsed(plain_rows(without_fence(asked(self.model, image, TABLE_PROMPT))))


@dataclass(frozen=True, slots=True)
class ModelChartTeller:
    """A ``ChartTeller`` that is a chart model such as UniChart."""

    model: ChartModel

    def caption(self, image: Image.Image) -> str:
        return self._told(ChartRequest(image=image, task="caption"))

    def answer(self, image: Image.Image, question: str) -> str:
        return self._told(ChartRequest(image=image, task="answer", question=question))

    def _told(self, request: ChartRequest) -> str:
        (text,) = self.model.tell_batch([request])
        if not text:
            raise ToolError("the model behind this tool said nothing; use another tool")
        return text


@dataclass(frozen=True, slots=True)
class VisionChartTeller:
    """A ``ChartTeller`` that is a vision-language model."""

    model: VisionModel

    def caption(self, image: Image.Image) -> str:
        return asked(self.model, image, CAPTION_PROMPT)

    def answer(self, image: Image.Image, question: str) -> str:
        return asked(self.model, image, ANSWER_PROMPT.replace("{question}", question))


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


def _parsed(text: str) -> Chart:
    try:
        return parse_unichart(text) if "&&" in text else parse_deplot(text)
    except ToolError as error:
        raise ToolError(f"the model behind this tool wrote no table that can be read: {error}") from error
