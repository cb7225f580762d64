"""The MCP server as a process: on stdio for a client that starts it, or on HTTP for clients elsewhere."""

import asyncio
import hmac
import logging

from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from saccade.errors import UserError, missing_extra
from saccade.interop.mcp.images import SERVER_LIMITS
from saccade.services.http.connections import HEADERS_WITHIN_S, protocol_within
from saccade.services.http.guards import OriginGuard, UploadGuard, UploadLimits
from saccade.services.http.hosts import is_loopback

try:
    import uvicorn
except ImportError as error:
    raise missing_extra("services", "uvicorn", needed_for="serving over HTTP") from error

MCP_PATH = "/mcp"

UPLOADS = UploadLimits(
    # A message's own limit, 4 MiB, is the protocol library's.
    most_bytes=lambda _: SERVER_LIMITS.max_bytes,
    together_bytes=256 << 20,
    within_s=30.0,
)


def serve_stdio(server: FastMCP) -> None:
    """Until the client closes our standard input. Whatever tools print goes to standard error."""
    asyncio.run(server.run_stdio_async(show_banner=False, log_level="WARNING"))


def serve_http(server: FastMCP, *, host: str, port: int, token: str | None) -> None:
    """Until SIGTERM or Ctrl-C, at ``http://host:port/mcp``; beyond loopback only with a token."""
    if token is None and not is_loopback(host):
        raise UserError(
            f"host={host} listens beyond this machine, where anybody could call the tools; give a token with "
            "--token-env, or listen on 127.0.0.1"
        )
    guards = [Middleware(OriginGuard, host=host, has_token=token is not None)]
    if token is not None:
        guards.append(Middleware(TokenGuard, token=token))
    guards.append(Middleware(UploadGuard, limits=UPLOADS))
    # Nothing is kept for a client, so that one notices no restart: neither sessions nor streams are needed.
    app = server.http_app(
        path=MCP_PATH,
        middleware=guards,
        stateless_http=True,
        json_response=True,
        # Ours is in front, the same for all our servers.
        host_origin_protection=False,
    )
    logging.getLogger("saccade").info("MCP server at http://%s:%d%s", host, port, MCP_PATH)
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=protocol_within(HEADERS_WITHIN_S),
        log_level="warning",
        timeout_graceful_shutdown=5,
        ws="none",
    )


class TokenGuard:
    """Lets requests with the right bearer token through, on every path."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        if not token:
            raise UserError("the token is empty; set its variable to a secret of your choice")
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                refusal = JSONResponse({"error": "send the header Authorization: Bearer TOKEN"}, status_code=401)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)
