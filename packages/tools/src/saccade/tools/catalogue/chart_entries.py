"""Charts in the catalogue: the offline classical reader, DePlot or UniChart, or a vision-language model behind them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from saccade.tools.catalogue.entries import Entry, Make, Makers, Unconfigured
from saccade.tools.catalogue.models import chart_model, local_vision_model, patience_s, server_vision_model
from saccade.tools.catalogue.perception_entries import text_reader
from saccade.tools.catalogue.settings import Options
from saccade.tools.tool import Tool, find_tool
from saccade.types import Json
from saccade.vision_models.kinds import CHART_MODELS

if TYPE_CHECKING:
    from saccade.readers.charts.chart import ChartReader
    from saccade.tools.experts import ChartTeller

_EXAMPLE = "chartmoe"


def _classical(options: Options) -> Make:
    options.need_package("cv2", extra="readers")
    reader = text_reader(options)

    def make() -> Tool:
        from saccade.readers.charts.classical import ClassicalReader
        from saccade.tools.chart_tools import chart_tools

        return find_tool(options.name, chart_tools(ClassicalReader(reader)))

    return make


def _table_at_server(options: Options) -> Make:
    model, deadline_s = server_vision_model(options, example=_EXAMPLE), patience_s(options)

    def make() -> Tool:
        from saccade.tools.experts import VisionChartReader

        return _over(options.name, VisionChartReader(model()), deadline_s)

    return make


def _table_here(options: Options) -> Make:
    """A chart model when the checkpoint is one, otherwise a vision-language model that is asked for the table."""
    if options.checkpoint_kind(example="checkpoints/deplot") in CHART_MODELS:
        told, deadline_s = chart_model(options), patience_s(options)

        def read() -> "ChartReader":
            from saccade.tools.experts import ModelChartReader

            return ModelChartReader(told())

    else:
        seen, deadline_s = local_vision_model(options), patience_s(options)

        def read() -> "ChartReader":
            from saccade.tools.experts import VisionChartReader

            return VisionChartReader(seen())

    return lambda: _over(options.name, read(), deadline_s)


def _words_at_server(options: Options) -> Make:
    model, deadline_s = server_vision_model(options, example=_EXAMPLE), patience_s(options)

    def make() -> Tool:
        from saccade.tools.experts import VisionChartTeller

        return _teller_tool(options.name, VisionChartTeller(model()), deadline_s)

    return make


def _words_here(options: Options) -> Make:
    """UniChart or a vision-language model in its own words; DePlot knows tables only, so words are made from those."""
    kind = options.checkpoint_kind(example="checkpoints/unichart")
    if kind == "pix2struct":
        return _table_here(options)
    tell: Callable[[], ChartTeller]
    if kind in CHART_MODELS:
        told, deadline_s = chart_model(options), patience_s(options)

        def tell() -> "ChartTeller":
            from saccade.tools.experts import ModelChartTeller

            return ModelChartTeller(told())

    else:
        seen, deadline_s = local_vision_model(options), patience_s(options)

        def tell() -> "ChartTeller":
            from saccade.tools.experts import VisionChartTeller

            return VisionChartTeller(seen())

    return lambda: _teller_tool(options.name, tell(), deadline_s)


def _over(name: str, reader: "ChartReader", deadline_s: float) -> Tool:
    from saccade.tools.chart_tools import chart_tools

    return find_tool(name, chart_tools(reader, deadline_s))


def _teller_tool(name: str, teller: "ChartTeller", deadline_s: float) -> Tool:
    from saccade.tools.experts import answer_tool, caption_tool

    make = caption_tool if name == "chart_caption" else answer_tool
    return make(teller, deadline_s=deadline_s)


def _outline(name: str) -> Tool:
    from saccade.tools.chart_tools import chart_tools

    return find_tool(name, chart_tools(Unconfigured()))


_OFFLINE: Makers = {"in_process": _classical}
_BY_TABLE: Makers = {**_OFFLINE, "transformers": _table_here, "openai": _table_at_server}
_BY_WORDS: Makers = {**_OFFLINE, "transformers": _words_here, "openai": _words_at_server}


def _chart(name: str, summary: str, source: str, makers: Makers, **example: Json) -> Entry:
    return Entry(
        name=name,
        family="charts",
        summary=summary,
        source=f"VISTA-Gym appendix B, {source}",
        makers=makers,
        outline=partial(_outline, name),
        example=example,
    )


CHARTS = (
    _chart(
        "chart_to_table",
        "Reads the data of a chart as a table",
        "Chart To Table (UniChart, DePlot, ChartMoE.to_table, ChartMoE.extract_data)",
        _BY_TABLE,
    ),
    _chart(
        "chart_to_svg",
        "Draws a chart again as SVG from what was read of it",
        "Chart To SVG (OpenCV, ChartDet, ChartOCR)",
        _OFFLINE,
    ),
    _chart(
        "chart_to_scene_graph",
        "Lists the parts of a chart and how they belong together",
        "Chart To SCG (ChartDet, ChartOCR)",
        _OFFLINE,
    ),
    _chart(
        "chart_caption",
        "Describes a chart in a few sentences",
        "Captioning Color (ChartAssistant) and QA Analysis (ChartMoE.describe)",
        _BY_WORDS,
    ),
    _chart("chart_colors", "Says which colour stands for which series", "Captioning Color (ChartVLM)", _OFFLINE),
    _chart(
        "analyze_chart",
        "Works out extremes, totals, means and trends of what a chart shows",
        "QA Analysis (ChartMoE.analyze)",
        _BY_TABLE,
    ),
    _chart(
        "answer_chart",
        "Answers a question about the values of a chart",
        "QA Analysis (ChartMoE.answer)",
        _BY_WORDS,
        question="What is the highest value?",
    ),
)
