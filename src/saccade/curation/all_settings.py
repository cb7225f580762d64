"""What ``--set`` changes in a curation: the pipeline, and how servers are asked."""

from dataclasses import dataclass, field

from saccade.chat.connect import ChatServerSettings
from saccade.curation.codedance.settings import CurationSettings
from saccade.curation.ivgr.rephrasing import RephrasingSettings
from saccade.curation.ivgr.selection import SelectionSettings
from saccade.curation.vista.imitation import VistaImitationSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceCuration(CurationSettings):
    """The pipeline's settings and those of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)
    difficulty: float = 0.5
    """Difficulty of the questions of a procedural family."""
    run_timeout_s: float = 15.0
    """Time limit of one piece of code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewriteSettings(RephrasingSettings):
    """The settings of telling trajectories anew and those of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSettings(SelectionSettings):
    """The settings of selecting questions and those of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaCuration(VistaImitationSettings):
    """The settings of making trajectories with tools and those of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)
