"""Curation of linguistic tools: a toolbox learned from right trajectories of any run, one after the other.

Start in ``pipeline.py`` (``curate_tools``), then ``grammar.py`` (what a curator may reply), ``sets.py`` (frequencies
and the toolbox) and ``curated.py`` (the outcome). ``run.py`` is the command. The tools are words: ``saccade.tools`` has
those that run.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.linguistic_tools.asking import Curator as Curator
    from saccade.curation.linguistic_tools.asking import RuleCurator as RuleCurator
    from saccade.curation.linguistic_tools.asking import asked_tools as asked_tools
    from saccade.curation.linguistic_tools.curated import CuratedTools as CuratedTools
    from saccade.curation.linguistic_tools.grammar import ReadReply as ReadReply
    from saccade.curation.linguistic_tools.grammar import RefusedTool as RefusedTool
    from saccade.curation.linguistic_tools.grammar import read_reply as read_reply
    from saccade.curation.linguistic_tools.grammar import written_reply as written_reply
    from saccade.curation.linguistic_tools.imitation import chain_examples as chain_examples
    from saccade.curation.linguistic_tools.pipeline import ToolCuration as ToolCuration
    from saccade.curation.linguistic_tools.pipeline import curate_tools as curate_tools
    from saccade.curation.linguistic_tools.pipeline import tool_journal as tool_journal
    from saccade.curation.linguistic_tools.sets import BuiltToolbox as BuiltToolbox
    from saccade.curation.linguistic_tools.sets import ToolOrigin as ToolOrigin
    from saccade.curation.linguistic_tools.sets import ToolSet as ToolSet
    from saccade.curation.linguistic_tools.sets import build_toolbox as build_toolbox
    from saccade.curation.linguistic_tools.sets import frequencies as frequencies
    from saccade.curation.linguistic_tools.trajectories import ReasonedTrajectory as ReasonedTrajectory
    from saccade.curation.linguistic_tools.trajectories import recorded_attempts as recorded_attempts
    from saccade.curation.linguistic_tools.trajectories import right_trajectories as right_trajectories
    from saccade.curation.linguistic_tools.trajectories import trajectory_from_json as trajectory_from_json
else:
    __getattr__, __dir__ = names_on_use(__name__)
