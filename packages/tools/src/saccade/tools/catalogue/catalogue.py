"""All tools by name, and how a configuration makes them.

    tools = toolset(read_tools_file(Path("tools.toml")))
    environment = VisualReasoning(..., tools=tools.ready)

A tool that cannot be made is left out, and ``tools.left_out`` says why and what to do: nothing pretends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError, nearest
from saccade.tools.catalogue.chart_entries import CHARTS
from saccade.tools.catalogue.entries import Entry
from saccade.tools.catalogue.geometry_entries import DIAGRAMS, SOLVERS
from saccade.tools.catalogue.perception_entries import CODE, IMAGES, PERCEPTION
from saccade.tools.catalogue.retrieval_entries import RETRIEVAL
from saccade.tools.catalogue.settings import ToolSettings, ToolsFile
from saccade.tools.tool import Tool

__all__ = ["CATALOGUE", "Entry", "Toolset", "build_tool", "entry_of", "toolset", "why_not"]

CATALOGUE: tuple[Entry, ...] = (*PERCEPTION, *IMAGES, *CHARTS, *DIAGRAMS, *SOLVERS, *CODE, *RETRIEVAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolset:
    """The tools of a configuration, and those that could not be made."""

    ready: tuple[Tool, ...]
    left_out: Mapping[str, str]
    """Why, by the tool's name."""


def entry_of(name: str) -> Entry:
    """The tool of this name; UserError lists the names otherwise."""
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    names = [entry.name for entry in CATALOGUE]
    suggestion = nearest(name, names)
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    raise UserError(f"there is no tool {name!r}; the tools are {', '.join(names)}{hint}")


def build_tool(settings: ToolSettings, folder: Path = Path()) -> Tool:
    """The tool, ready to be called; relative paths start at ``folder``. UserError when its options do not do."""
    return entry_of(settings.name).build(settings, folder)


def why_not(settings: ToolSettings, folder: Path = Path()) -> str | None:
    """Why the tool cannot be made and what to do, or None when it can. Loads no model."""
    try:
        entry_of(settings.name).prepare(settings, folder)
    except UserError as error:
        return str(error)
    return None


def toolset(tools_file: ToolsFile) -> Toolset:
    """The tools of a configuration, in its order; models are loaded here."""
    ready: list[Tool] = []
    left_out: dict[str, str] = {}
    for settings in tools_file.tools:
        try:
            ready.append(build_tool(settings, tools_file.folder))
        except UserError as error:
            left_out[settings.name] = str(error)
    return Toolset(ready=tuple(ready), left_out=left_out)
