"""Before any request is looked at: does it bring the token, and is it small enough?"""

import hmac
import json
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saccade.types import Json

OPEN_PATHS = frozenset({"/health", "/ready"})
"""Asked by machines that start and stop servers."""


def error_bytes(kind: str, message: str, missing: Sequence[str] = (), *, retry_after_s: float | None = None) -> bytes:
    """The body of an answer that is no result."""
    error: Json = {"kind": kind, "message": message, "missing": list(missing), "retry_after_s": retry_after_s}
    return json.dumps({"error": error}).encode("ascii")


class Gate:
    """An ASGI application in front of another."""

    def __init__(self, app: ASGIApp, *, token: str | None, max_call_bytes: int, max_image_bytes: int) -> None:
        self._app = app
        self._token = None if token is None else token.encode("utf-8")
        self._max_call_bytes = max_call_bytes
        self._max_image_bytes = max_image_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._token is not None and scope["path"] not in OPEN_PATHS and not self._brings_token(headers):
            challenge = ((b"www-authenticate", b"Bearer"),)
            message = "send the server's token in the header Authorization: Bearer ..."
            await _answer(send, 401, "token", message, challenge)
            return
        limit = self._max_image_bytes if scope["path"].startswith("/images") else self._max_call_bytes
        length = headers.get(b"content-length", b"")
        body = None
        if not length.isdigit():
            body = await _whole_body(receive, limit)
        if (body is None and not length.isdigit()) or (length.isdigit() and int(length) > limit):
            await _answer(send, 413, "too_large", f"the body has more than the {limit} bytes that are allowed")
            return
        await self._app(scope, receive if body is None else _replayed(body, receive), send)

    def _brings_token(self, headers: dict[bytes, bytes]) -> bool:
        assert self._token is not None
        scheme, _, brought = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(brought.strip(), self._token)


async def _whole_body(receive: Receive, limit: int) -> bytes | None:
    """A body whose length was not told; None when it is longer than ``limit``."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _answer(
    send: Send, status: int, kind: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    body = error_bytes(kind, message)
    told = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
