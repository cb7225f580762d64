"""Before any request is looked at: does it bring the token?"""

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from saccade.services.http.uploads import answer

OPEN_PATHS = frozenset({"/health", "/ready"})
"""Asked by machines that start and stop servers."""


class TokenGate:
    """An ASGI application in front of another."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._token = token.encode("utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and scope["path"] not in OPEN_PATHS
        if is_asked and not self._brings_token(dict(scope["headers"])):
            challenge = ((b"www-authenticate", b"Bearer"),)
            message = "send the server's token in the header Authorization: Bearer ..."
            await answer(send, 401, "token", message, challenge)
            return
        await self._app(scope, receive, send)

    def _brings_token(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, brought = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(brought.strip(), self._token)
