"""Tools that put a request to another vision-language model, whose answer may be wrong.

``asking.py`` is the request and how its answer is read; ``charts``, ``diagrams`` and ``solvers`` are tools by field.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tools.experts.charts import ModelChartReader, VisionChartReader
    from saccade.tools.experts.diagrams import figure_tool, formalize_tool
    from saccade.tools.experts.solvers import g_llava_tool, multimath_tool
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "ModelChartReader",
    "VisionChartReader",
    "figure_tool",
    "formalize_tool",
    "g_llava_tool",
    "multimath_tool",
]
