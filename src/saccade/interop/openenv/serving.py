"""The OpenEnv server as a process: guarded as all our servers are, and rid of sessions whose client has gone."""

from collections.abc import Sequence

from saccade.errors import missing_extra
from saccade.services.http.connections import HEADERS_WITHIN_S, drop, protocol_within
from saccade.services.http.origins import OriginGuard
from saccade.services.http.uploads import UploadGuard, UploadLimits

try:
    import uvicorn
    from fastapi import FastAPI
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
except ImportError as error:
    raise missing_extra("openenv", "openenv-core", needed_for="OpenEnv") from error

UPLOADS = UploadLimits(most_bytes=lambda _: 4 << 20, together_bytes=64 << 20, within_s=30.0)
"""Limits of plain HTTP requests; an episode's messages travel in its session."""


class SessionProtocol(WebSocketsSansIOProtocol):
    """uvicorn's, which waits for ever to tell a client that reads nothing that its session has ended."""

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(HEADERS_WITHIN_S, drop, self.transport)


def guarded(app: FastAPI, *, host: str, allow_hosts: Sequence[str] = ()) -> FastAPI:
    """The app with requests by web pages, under names of others and of endless bodies refused."""
    app.add_middleware(UploadGuard, limits=UPLOADS)
    app.add_middleware(OriginGuard, host=host, has_token=False, allow_hosts=allow_hosts)
    return app


def serve(app: FastAPI, *, host: str, port: int, allow_hosts: Sequence[str] = ()) -> None:
    """Until SIGTERM or Ctrl-C. ``allow_hosts`` are names under which clients know this machine, beside its own."""
    uvicorn.run(
        guarded(app, host=host, allow_hosts=allow_hosts),
        host=host,
        port=port,
        http=protocol_within(HEADERS_WITHIN_S),
        log_level="warning",
        ws=SessionProtocol,
        timeout_graceful_shutdown=5,
    )
