"""The MCP server as a process: on stdio for a client that starts it, or on HTTP for clients elsewhere."""

import asyncio
import hmac
import logging

from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from saccade.errors import UserError

try:
    import uvicorn
except ImportError as error:
    raise UserError('serving over HTTP needs the package uvicorn: pip install "saccade[services]"') from error

LOOPBACK = ("127.0.0.1", "::1", "localhost")

MCP_PATH = "/mcp"


def serve_stdio(server: FastMCP) -> None:
    """Until the client closes our standard input. Whatever tools print goes to standard error."""
    asyncio.run(server.run_stdio_async(show_banner=False, log_level="WARNING"))


def serve_http(server: FastMCP, *, host: str, port: int, token: str | None) -> None:
    """Until SIGTERM or Ctrl-C, at ``http://host:port/mcp``; beyond loopback only with a token."""
    if token is None and host not in LOOPBACK:
        raise UserError(
            f"host={host} listens beyond this machine, where anybody could call the tools; give a token with "
            "--token-env, or listen on 127.0.0.1"
        )
    guards = [] if token is None else [Middleware(TokenGuard, token=token)]
    # Nothing is kept for a client, so that one notices no restart: neither sessions nor streams are needed.
    app = server.http_app(
        path=MCP_PATH,
        middleware=guards,
        stateless_http=True,
        json_response=True,
        # A page in a browser on this machine must not reach the server by a name of its own choice; beyond loopback
        # the names are not known here, and the token keeps strangers out.
        host_origin_protection=host in LOOPBACK,
        allowed_hosts=[f"{name}:{port}" for name in (*LOOPBACK, "[::1]")] if host in LOOPBACK else None,
    )
    logging.getLogger("saccade").info("MCP server at http://%s:%d%s", host, port, MCP_PATH)
    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=5, ws="none")


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
