"""Tools as services: a server with resident models in worker processes, and its client.

``client/`` is what a run uses (``RemoteTools``); ``http/`` is the server's HTTP side, ``workers/`` the processes in
which it runs tools; ``settings.py`` reads how a server runs from a ``tools.toml``.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.services.http.server import serve as serve
    from saccade.services.settings import GroupSettings as GroupSettings
    from saccade.services.settings import Serving as Serving
    from saccade.services.settings import ToolServerSettings as ToolServerSettings
    from saccade.services.settings import serving_of as serving_of
else:
    __getattr__, __dir__ = names_on_use(__name__)
