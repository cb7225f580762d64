"""iVGR's data: general questions selected by pass rate, and the textual half of the cold start.

Start in ``selection.py`` and ``rephrasing.py``; ``run.py`` puts them together for the command line, ``cold_start.py``
reads and writes the examples.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.ivgr.cold_start import ColdStartExample, read_cold_start
    from saccade.curation.ivgr.rephrasing import Rephrasing, RephrasingSettings
    from saccade.curation.ivgr.run import IvgrRequest, rewrite_trajectories, select_questions
    from saccade.curation.ivgr.selection import QuestionSelection, SelectionSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "ColdStartExample",
    "IvgrRequest",
    "QuestionSelection",
    "Rephrasing",
    "RephrasingSettings",
    "SelectionSettings",
    "read_cold_start",
    "rewrite_trajectories",
    "select_questions",
]
