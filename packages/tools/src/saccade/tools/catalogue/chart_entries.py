"""Charts in the catalogue: the offline classical reader, DePlot or UniChart, or a vision-language model behind them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from saccade.tools.catalogue.entries import Entry, Make, Makers, Unconfigured
from saccade.tools.catalogue.models import chart_model, local_vision_model, patience_s, server_vision_model
from saccade.tools.catalogue.perception_entries import text_reader
from saccade.tools.catalogue.settings import Options
from saccade.tools.tool import Tool, find_tool
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

        return _told(options.name, VisionChartTeller(model()), deadline_s)

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

    return lambda: _told(options.name, tell(), deadline_s)


def _over(name: str, reader: "ChartReader", deadline_s: float) -> Tool:
    from saccade.tools.chart_tools import chart_tools

    return find_tool(name, chart_tools(reader, deadline_s))


def _told(name: str, teller: "ChartTeller", deadline_s: float) -> Tool:
    from saccade.tools.experts import answer_tool, caption_tool

    make = caption_tool if name == "chart_caption" else answer_tool
    return make(teller, deadline_s=deadline_s)


def _outline(name: str) -> Tool:
    from saccade.tools.chart_tools import chart_tools

    return find_tool(name, chart_tools(Unconfigured()))


_BY_TABLE: Makers = {"in_process": _classical, "transformers": _table_here, "openai": _table_at_server}
_BY_WORDS: Makers = {"in_process": _classical, "transformers": _words_here, "openai": _words_at_server}

CHARTS = (
    Entry(
        name="chart_to_table",
        family="charts",
        summary="Reads the data of a chart as a table",
        source="VISTA-Gym appendix B, Chart To Table (UniChart, DePlot, ChartMoE.to_table, ChartMoE.extract_data)",
        makers=_BY_TABLE,
        outline=partial(_outline, "chart_to_table"),
        example={},
    ),
    Entry(
        name="chart_to_svg",
        family="charts",
        summary="Draws a chart again as SVG from what was read of it",
        source="VISTA-Gym appendix B, Chart To SVG (OpenCV, ChartDet, ChartOCR)",
        makers={"in_process": _classical},
        outline=partial(_outline, "chart_to_svg"),
        example={},
    ),
    Entry(
        name="chart_to_scene_graph",
        family="charts",
        summary="Lists the parts of a chart and how they belong together",
        source="VISTA-Gym appendix B, Chart To SCG (ChartDet, ChartOCR)",
        makers={"in_process": _classical},
        outline=partial(_outline, "chart_to_scene_graph"),
        example={},
    ),
    Entry(
        name="chart_caption",
        family="charts",
        summary="Describes a chart in a few sentences",
        source="VISTA-Gym appendix B, Captioning Color (ChartAssistant) and QA Analysis (ChartMoE.describe)",
        makers=_BY_WORDS,
        outline=partial(_outline, "chart_caption"),
        example={},
    ),
    Entry(
        name="chart_colors",
        family="charts",
        summary="Says which colour stands for which series",
        source="VISTA-Gym appendix B, Captioning Color (ChartVLM)",
        makers={"in_process": _classical},
        outline=partial(_outline, "chart_colors"),
        example={},
    ),
    Entry(
        name="analyze_chart",
        family="charts",
        summary="Works out extremes, totals, means and trends of what a chart shows",
        source="VISTA-Gym appendix B, QA Analysis (ChartMoE.analyze)",
        makers=_BY_TABLE,
        outline=partial(_outline, "analyze_chart"),
        example={},
    ),
    Entry(
        name="answer_chart",
        family="charts",
        summary="Answers a question about the values of a chart",
        source="VISTA-Gym appendix B, QA Analysis (ChartMoE.answer)",
        makers=_BY_WORDS,
        outline=partial(_outline, "answer_chart"),
        example={"question": "What is the highest value?"},
    ),
)
