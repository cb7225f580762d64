"""The tool server's HTTP side: routes, guards, limits.

Start in ``app.py`` (the routes) and ``service.py`` (what they call); ``server.py`` runs it all from start to end.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.services.http.app import create_app as create_app
    from saccade.services.http.server import serve as serve
    from saccade.services.http.service import ToolService as ToolService
else:
    __getattr__, __dir__ = names_on_use(__name__)
