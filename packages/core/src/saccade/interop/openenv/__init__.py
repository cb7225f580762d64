"""Environments as OpenEnv servers, and a typed client for them."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.openenv.client import SaccadeEnvClient as SaccadeEnvClient
    from saccade.interop.openenv.messages import SaccadeAction as SaccadeAction
    from saccade.interop.openenv.messages import SaccadeObservation as SaccadeObservation
    from saccade.interop.openenv.messages import SaccadeState as SaccadeState
    from saccade.interop.openenv.server import openenv_app as openenv_app
    from saccade.interop.openenv.server import serve as serve
else:
    __getattr__, __dir__ = names_on_use(__name__)
