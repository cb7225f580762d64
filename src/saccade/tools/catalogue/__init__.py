"""The catalogue: all tools by name, what each needs, and how a ``tools.toml`` makes them.

Start in ``catalogue.py`` (``toolset`` makes the tools of a file), then ``settings.py`` (what the file says) and
``entries.py``; the entries of a field are in a module of their own.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tools.catalogue.catalogue import CATALOGUE, build_tool, entry_of, toolset, why_not
    from saccade.tools.catalogue.entries import Entry, ToolFamily
    from saccade.tools.catalogue.settings import ToolSettings, ToolsFile, read_tools_file
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "CATALOGUE",
    "Entry",
    "ToolFamily",
    "ToolSettings",
    "ToolsFile",
    "build_tool",
    "entry_of",
    "read_tools_file",
    "toolset",
    "why_not",
]
