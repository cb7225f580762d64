"""Limits on what comes in: the size of a body, the time that it takes, and all bodies at work together."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saccade.types import Json


def error_bytes(kind: str, message: str, missing: Sequence[str] = (), *, retry_after_s: float | None = None) -> bytes:
    """The body of an answer that is no result."""
    error: Json = {"kind": kind, "message": message, "missing": list(missing), "retry_after_s": retry_after_s}
    return json.dumps({"error": error}).encode("ascii")


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadLimits:
    """What bodies may take."""

    most_bytes: Callable[[str], int]
    """Limit of one body, by the path of its request."""
    together_bytes: int
    """Limit of all bodies that are arriving or at work; a body that would pass this is turned away."""
    within_s: float
    """From a request's headers to the end of its body."""


class _RefusedError(Exception):
    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class UploadGuard:
    """An ASGI application in front of another: reads each body whole before that sees the request."""

    def __init__(self, app: ASGIApp, *, limits: UploadLimits) -> None:
        self._app = app
        self._limits = limits
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        chunks: list[bytes] = []
        try:
            length = dict(scope["headers"]).get(b"content-length", b"")
            most = self._limits.most_bytes(scope["path"])
            if length.isdigit() and int(length) > most:
                raise _too_large(most)
            try:
                async with asyncio.timeout(self._limits.within_s):
                    await self._read(receive, chunks, most)
            except TimeoutError:
                raise _RefusedError(408, "slow", f"the body took more than {self._limits.within_s:g} s") from None
            messages: list[Message] = [{"type": "http.request", "body": b"".join(chunks), "more_body": False}]

            async def replay() -> Message:
                return messages.pop() if messages else await receive()

            await self._app(scope, replay, send)
        except _RefusedError as refused:
            await answer(send, refused.status, refused.kind, str(refused))
        finally:
            self._held_bytes -= sum(map(len, chunks))

    async def _read(self, receive: Receive, chunks: list[bytes], most: int) -> None:
        count = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedError(400, "request", "the body never came to its end")
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            count += len(chunk)
            if count > most:
                raise _too_large(most)
            if self._held_bytes + len(chunk) > self._limits.together_bytes:
                raise _RefusedError(503, "uploads", "too many bytes are being sent at the same time; come back later")
            self._held_bytes += len(chunk)
            chunks.append(chunk)


async def answer(send: Send, status: int, kind: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """Refuse a request whose body may not have been read: the connection ends with it."""
    body = error_bytes(kind, message, retry_after_s=1.0 if status == 503 else None)
    told = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *([(b"retry-after", b"1")] if status == 503 else []),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


def _too_large(most: int) -> _RefusedError:
    return _RefusedError(413, "too_large", f"the body has more than the {most} bytes that are allowed")
