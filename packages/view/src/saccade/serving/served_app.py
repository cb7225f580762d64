"""A served app: uvicorn around it, from the first request to the last."""

import socket

import uvicorn
from starlette.applications import Starlette

from saccade.services.http.connections import protocol_within
from saccade.services.http.listening import BACKLOG, SignalledServer


class ServedApp:
    """One server of an app. Subclasses make the app in ``__init__`` and pass it to ``serve``."""

    address: tuple[str, int]
    """Host and port, those of the listener once it runs."""
    _server: SignalledServer

    def serve(self, app: Starlette, address: tuple[str, int], *, request_s: float, drain_s: float) -> None:
        """Prepares the server: a request may take ``request_s`` to arrive, those that are out have ``drain_s`` left at
        the end."""
        self.address = address
        self._server = SignalledServer(
            uvicorn.Config(
                app,
                http=protocol_within(request_s),
                ws="none",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                lifespan="on",
                timeout_keep_alive=75,
                timeout_graceful_shutdown=max(1, round(drain_s)),
                backlog=BACKLOG,
            )
        )

    @property
    def has_started(self) -> bool:
        return self._server.started

    async def run(self, listener: socket.socket) -> None:
        """Returns after SIGTERM, SIGINT or ``stop``, when no request is out any more."""
        self.address = listener.getsockname()[:2]
        await self._server.serve(sockets=[listener])

    def stop(self) -> None:
        """Called from any thread."""
        self._server.should_exit = True
