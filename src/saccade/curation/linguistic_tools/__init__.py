"""Curation of linguistic tools: a toolbox learned from right trajectories of any run, one after the other.

Start in ``pipeline.py`` (``curate_tools``), then ``grammar.py`` (what a curator may reply), ``sets.py`` (frequencies
and the toolbox) and ``curated.py`` (the outcome). ``run.py`` is the command. The tools are words: ``saccade.tools`` has
those that run.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.linguistic_tools.asking import Curator, RuleCurator, asked_tools
    from saccade.curation.linguistic_tools.curated import CuratedTools
    from saccade.curation.linguistic_tools.grammar import ReadReply, RefusedTool, read_reply, written_reply
    from saccade.curation.linguistic_tools.imitation import chain_examples
    from saccade.curation.linguistic_tools.pipeline import ToolCuration, curate_tools, tool_journal
    from saccade.curation.linguistic_tools.sets import (
        BuiltToolbox,
        ToolOrigin,
        ToolSet,
        build_toolbox,
        frequencies,
    )
    from saccade.curation.linguistic_tools.trajectories import (
        ReasonedTrajectory,
        recorded_attempts,
        right_trajectories,
        trajectory_from_json,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BuiltToolbox",
    "CuratedTools",
    "Curator",
    "ReadReply",
    "ReasonedTrajectory",
    "RefusedTool",
    "RuleCurator",
    "ToolCuration",
    "ToolOrigin",
    "ToolSet",
    "asked_tools",
    "build_toolbox",
    "chain_examples",
    "curate_tools",
    "frequencies",
    "read_reply",
    "recorded_attempts",
    "right_trajectories",
    "tool_journal",
    "trajectory_from_json",
    "written_reply",
]
