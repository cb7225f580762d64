"""Charts: the ``Chart`` value, a reader of pixels that works offline; tables, descriptions and answers of a chart.

Start in ``chart.py``, then ``classical.py`` (pixels to a ``Chart``). ``table.py``, ``descriptions.py`` and
``svg.py`` write a chart; ``questions.py`` answers questions on its table.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.charts.chart import Axis as Axis
    from saccade.readers.charts.chart import Chart as Chart
    from saccade.readers.charts.chart import ChartKind as ChartKind
    from saccade.readers.charts.chart import ChartReader as ChartReader
    from saccade.readers.charts.chart import Series as Series
    from saccade.readers.charts.classical import ClassicalReader as ClassicalReader
    from saccade.readers.charts.descriptions import analysis_of as analysis_of
    from saccade.readers.charts.descriptions import caption_of as caption_of
    from saccade.readers.charts.descriptions import scene_graph_of as scene_graph_of
    from saccade.readers.charts.questions import answer as answer
    from saccade.readers.charts.svg import svg_of as svg_of
    from saccade.readers.charts.table import csv_of as csv_of
    from saccade.readers.charts.table import data_of as data_of
    from saccade.readers.charts.table import markdown_of as markdown_of
else:
    __getattr__, __dir__ = names_on_use(__name__)
