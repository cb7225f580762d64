"""ASGI guards in front of a server: limits on uploads, access by origin, access by token.

A page of any site may send requests to this machine from a browser, and by a name of its own that it lets point here
(DNS rebinding) it could read the answers too. So the name in ``Host`` must be one of this machine, and ``Origin``,
which browsers add and programs leave out, must be the server's own.
"""

import asyncio
import hmac
from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saccade.services.http.hosts import is_loopback, is_own_name

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN_PATHS = frozenset({"/health", "/ready"})
"""Asked without a token, by machines that start and stop servers."""


ErrorForm = Callable[[int, str, str], bytes]
"""The body of a refusal, of its status, kind and message."""


def service_error(status: int, kind: str, message: str) -> bytes:
    """As tool services write refusals."""
    # Loaded with the first of them: the viewer starts without.
    from saccade.services.refusals import error_bytes

    return error_bytes(kind, message, retry_after_s=1.0 if status == 503 else None)


async def answer(
    send: "Send",
    status: int,
    kind: str,
    message: str,
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    form: ErrorForm = service_error,
) -> None:
    """Refuses a request whose body may not have been read: the connection ends with it."""
    body = form(status, kind, message)
    told = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *([(b"retry-after", b"1")] if status == 503 else []),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadLimits:
    """Limits on the size and time of request bodies."""

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

    def __init__(self, app: "ASGIApp", *, limits: UploadLimits, form: ErrorForm = service_error) -> None:
        self._app = app
        self._form = form
        self._limits = limits
        self._held_bytes = 0

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
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

            async def replay() -> "Message":
                return messages.pop() if messages else await receive()

            await self._app(scope, replay, send)
        except _RefusedError as refused:
            await answer(send, refused.status, refused.kind, str(refused), form=self._form)
        finally:
            self._held_bytes -= sum(map(len, chunks))

    async def _read(self, receive: "Receive", chunks: list[bytes], most: int) -> None:
        count = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedError(400, "request", "the body ended too early")
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            count += len(chunk)
            if count > most:
                raise _too_large(most)
            if self._held_bytes + len(chunk) > self._limits.together_bytes:
                raise _RefusedError(503, "uploads", "too many bytes are being sent at the same time; try again later")
            self._held_bytes += len(chunk)
            chunks.append(chunk)


def _too_large(most: int) -> _RefusedError:
    return _RefusedError(413, "too_large", f"the body has more than the {most} bytes that are allowed")


class OriginGuard:
    """An ASGI application in front of another: requests by programs and own pages go on, HTTP and WebSockets.

    ``host`` is the address that the server listens on, ``allow_hosts`` are names that its clients use for it. Beyond
    loopback, with a token, names are not looked at: a page does not know the token, and clusters have names that are
    not known here.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        host: str,
        has_token: bool,
        allow_hosts: Sequence[str] = (),
        form: ErrorForm = service_error,
    ) -> None:
        self._app = app
        self._form = form
        self._host = host
        self._allowed = frozenset(name.lower() for name in allow_hosts)
        self._checks_names = is_loopback(host) or not has_token

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        why = None if scope["type"] == "lifespan" else self._refusal(scope["headers"])
        if why is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        else:
            await answer(send, 403, "origin", why, form=self._form)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """The reason to refuse a request with these headers, None for none."""
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            return "send one Host header"
        own = _name(hosts[0])
        if self._checks_names and own not in self._allowed and not is_own_name(own, self._host):
            return f"the Host {hosts[0][:100]!r} is no name of this server; use its address, or let it allow this name"
        for name, value in headers:
            text = value.decode("latin-1").lower()
            if name == b"origin" and text.partition("://")[2] != hosts[0]:
                return f"requests by pages of {text[:100]!r} are refused; call from a program, which sends no Origin"
            if name == b"sec-fetch-site" and text not in ("none", "same-origin"):
                return "requests by pages of other sites are refused"
        return None


def _name(host: str) -> str:
    """Without the port, and without an IPv6 address's brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


class TokenGate:
    """An ASGI application in front of another: requests with the server's bearer token go on, HTTP and WebSockets.

    ``takes_passwords`` lets the token also be the password of an address, for clients that can send no header, and
    ``takes_keys`` that of the header X-API-Key.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        token: str,
        form: ErrorForm = service_error,
        takes_passwords: bool = False,
        takes_keys: bool = False,
    ) -> None:
        self._app = app
        self._form = form
        self._token = token.encode("utf-8")
        self._takes_passwords = takes_passwords
        self._takes_keys = takes_keys

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        is_asked = scope["type"] in ("http", "websocket") and scope["path"] not in OPEN_PATHS
        if not is_asked or self._brings_token(dict(scope["headers"])):
            await self._app(scope, receive, send)
            return
        header = "X-API-Key" if self._takes_keys else "Authorization: Bearer ..."
        message = f"send the server's token in the header {header}"
        if scope["type"] == "websocket":
            # Before it is accepted, this is an answer of status 403.
            await send({"type": "websocket.close", "code": 1008, "reason": message})
        else:
            challenge = ((b"www-authenticate", b"Bearer"),)
            await answer(send, 401, "token", message, challenge, form=self._form)

    def _brings_token(self, headers: dict[bytes, bytes]) -> bool:
        if self._takes_keys and b"x-api-key" in headers:
            return hmac.compare_digest(headers[b"x-api-key"], self._token)
        scheme, _, brought = headers.get(b"authorization", b"").partition(b" ")
        brought = brought.strip()
        if self._takes_passwords and scheme.lower() == b"basic":
            with suppress(ValueError):
                _, _, brought = b64decode(brought, validate=True).partition(b":")
                return hmac.compare_digest(brought, self._token)
        return scheme.lower() == b"bearer" and hmac.compare_digest(brought, self._token)
