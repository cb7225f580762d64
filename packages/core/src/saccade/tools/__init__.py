"""Tools: typed functions that a model may call on an image, described by a schema and checked before each call.

Start in ``tool.py`` (``tool_from`` makes a tool of a function, ``EpisodeTool`` is one with a state), then
``images.py``. ``code.py`` runs Python in the sandbox. ``catalogue/`` makes tools by name from a ``tools.toml``.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.tools.images import IMAGE_TOOLS as IMAGE_TOOLS
    from saccade.tools.images import crop as crop
    from saccade.tools.tool import Episode as Episode
    from saccade.tools.tool import EpisodeTool as EpisodeTool
    from saccade.tools.tool import OpenTool as OpenTool
    from saccade.tools.tool import Tool as Tool
    from saccade.tools.tool import ToolOutput as ToolOutput
    from saccade.tools.tool import find_tool as find_tool
    from saccade.tools.tool import tool_from as tool_from
else:
    __getattr__, __dir__ = names_on_use(__name__)
