"""The client of a tool server: its tools as ``Tool`` objects, called from another process or machine.

Start in ``remote_tools.py``; ``configured.py`` makes the tools of a run, from a configuration or from a server.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.services.client.configured import NO_TOOLS as NO_TOOLS
    from saccade.services.client.configured import Tools as Tools
    from saccade.services.client.configured import ToolsOfRun as ToolsOfRun
    from saccade.services.client.configured import configured_tools as configured_tools
    from saccade.services.client.configured import of_families as of_families
    from saccade.services.client.configured import tools_of_run as tools_of_run
    from saccade.services.client.remote_tools import RemoteTools as RemoteTools
else:
    __getattr__, __dir__ = names_on_use(__name__)
