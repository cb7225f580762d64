"""The client of a tool server: its tools as ``Tool`` objects, called from another process or machine.

Start in ``remote_tools.py``; ``configured.py`` makes the tools of a run, from a configuration or from a server.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.services.client.configured import (
        NO_TOOLS,
        Tools,
        ToolsOfRun,
        configured_tools,
        of_families,
        tools_of_run,
    )
    from saccade.services.client.remote_regions import RemoteRegions
    from saccade.services.client.remote_tools import RemoteTools
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "NO_TOOLS",
    "RemoteRegions",
    "RemoteTools",
    "Tools",
    "ToolsOfRun",
    "configured_tools",
    "of_families",
    "tools_of_run",
]
