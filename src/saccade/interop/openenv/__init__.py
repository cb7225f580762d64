"""Environments as OpenEnv servers, and a typed client for them."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.openenv.client import SaccadeEnvClient
    from saccade.interop.openenv.messages import SaccadeAction, SaccadeObservation, SaccadeState
    from saccade.interop.openenv.server import openenv_app, serve
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "SaccadeAction",
    "SaccadeEnvClient",
    "SaccadeObservation",
    "SaccadeState",
    "openenv_app",
    "serve",
]
