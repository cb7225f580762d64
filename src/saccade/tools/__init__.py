"""Tools: typed functions that a model may call on an image, described by a schema and checked before each call.

Start in ``tool.py`` (``tool_from`` makes a tool of a function, ``EpisodeTool`` is one with a state), then
``images.py``. ``code.py`` runs Python in the sandbox. ``catalogue/`` makes tools by name from a ``tools.toml``.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tools.code import Sessions, python_tool
    from saccade.tools.diagram_tools import DIAGRAM_TOOLS
    from saccade.tools.geometry_tools import GEOMETRY_TOOLS
    from saccade.tools.images import IMAGE_TOOLS, crop
    from saccade.tools.ocr_tools import reading_tools
    from saccade.tools.page_search import SearchTool, bounded_search, search_tool
    from saccade.tools.remembered import RememberedSessions, remembering
    from saccade.tools.tool import Episode, EpisodeTool, OpenTool, Tool, ToolOutput, find_tool, tool_from
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "DIAGRAM_TOOLS",
    "GEOMETRY_TOOLS",
    "IMAGE_TOOLS",
    "Episode",
    "EpisodeTool",
    "OpenTool",
    "RememberedSessions",
    "SearchTool",
    "Sessions",
    "Tool",
    "ToolOutput",
    "bounded_search",
    "crop",
    "find_tool",
    "python_tool",
    "reading_tools",
    "remembering",
    "search_tool",
    "tool_from",
]
