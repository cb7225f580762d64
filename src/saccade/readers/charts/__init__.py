"""Charts: the ``Chart`` value, a reader of pixels that works offline; tables, descriptions and answers of a chart.

Start in ``chart.py``, then ``classical.py`` (pixels to a ``Chart``). ``table.py``, ``descriptions.py`` and
``svg.py`` write a chart; ``questions.py`` answers questions on its table.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.charts.chart import Axis, Chart, ChartKind, ChartReader, Series
    from saccade.readers.charts.classical import ClassicalReader
    from saccade.readers.charts.descriptions import analysis_of, caption_of, scene_graph_of
    from saccade.readers.charts.questions import answer
    from saccade.readers.charts.svg import svg_of
    from saccade.readers.charts.table import csv_of, data_of, markdown_of
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "Axis",
    "Chart",
    "ChartKind",
    "ChartReader",
    "ClassicalReader",
    "Series",
    "analysis_of",
    "answer",
    "caption_of",
    "csv_of",
    "data_of",
    "markdown_of",
    "scene_graph_of",
    "svg_of",
]
