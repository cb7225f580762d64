"""iVGR's data: general questions selected by pass rate, and the textual half of the cold start.

Start in ``selection.py`` and ``rephrasing.py``; ``run.py`` puts them together for the command line, ``cold_start.py``
reads and writes the examples.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.ivgr.cold_start import ColdStartExample as ColdStartExample
    from saccade.curation.ivgr.cold_start import read_cold_start as read_cold_start
    from saccade.curation.ivgr.rephrasing import Rephrasing as Rephrasing
    from saccade.curation.ivgr.rephrasing import RephrasingSettings as RephrasingSettings
    from saccade.curation.ivgr.run import IvgrRequest as IvgrRequest
    from saccade.curation.ivgr.run import rewrite_trajectories as rewrite_trajectories
    from saccade.curation.ivgr.run import select_questions as select_questions
    from saccade.curation.ivgr.selection import QuestionSelection as QuestionSelection
    from saccade.curation.ivgr.selection import SelectionSettings as SelectionSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)
