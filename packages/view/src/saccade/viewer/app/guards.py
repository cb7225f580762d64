"""Guards in front of the viewer: who may ask, what a browser may do with the answers, and how much may be sent."""

import hmac
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from saccade.services.http.guards import OriginGuard, answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
COOKIE = "saccade_viewer"
CSRF_HEADER = b"x-saccade-token"
MAX_QUERY_BYTES = 16_384


def guarded(app: "ASGIApp", *, host: str, token: str | None) -> "ASGIApp":
    """The application behind everything that a question must pass, before the server is there and after."""
    inner = app if token is None else TokenCookie(app, token=token)
    return SafeAnswers(OriginGuard(inner, host=host, has_token=token is not None))


class SafeAnswers:
    """An ASGI application in front of another: every answer says what a browser may do with it."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        if scope["type"] == "http" and len(scope["query_string"]) > MAX_QUERY_BYTES:
            await answer(send_with_headers, 414, "too_large", f"a query of more than {MAX_QUERY_BYTES} bytes")
            return
        await self._app(scope, receive, send_with_headers)


class TokenCookie:
    """An ASGI application in front of another: the token comes once in the address, and then in a cookie.

    Pictures and events of a page cannot bring a header, so a cookie that scripts cannot read carries it.
    """

    def __init__(self, app: "ASGIApp", *, token: str) -> None:
        self._app = app
        self._token = token.encode("utf-8")

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or self._is_known(_cookie(scope)) or self._is_known(_bearer(scope)):
            await self._app(scope, receive, send)
            return
        brought = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0].encode("utf-8", "replace")
        if scope["path"] == "/" and scope["method"] == "GET" and self._is_known(brought):
            cookie = f"{COOKIE}={self._token.hex()}; HttpOnly; SameSite=Strict; Path=/".encode("ascii")
            headers = [(b"location", b"/"), (b"set-cookie", cookie), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 303, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await answer(send, 401, "token", "open the address with ?token=..., as the server's log shows it")

    def _is_known(self, brought: bytes) -> bool:
        return hmac.compare_digest(brought, self._token)


def _bearer(scope: "Scope") -> bytes:
    scheme, _, brought = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
    return bytes(brought.strip()) if scheme.lower() == b"bearer" else b""


def _cookie(scope: "Scope") -> bytes:
    try:
        cookies = SimpleCookie(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1"))
        return bytes.fromhex(cookies[COOKIE].value) if COOKIE in cookies else b""
    except (CookieError, ValueError):
        return b""


class WriteGuard:
    """An ASGI application in front of another: what is not a question must come from a page of this server.

    Bodies are read whole before the application sees the request, with a limit.
    """

    def __init__(self, app: "ASGIApp", *, csrf: str, max_body_bytes: int) -> None:
        self._app = app
        self._csrf = csrf.encode("ascii")
        self._max = max_body_bytes

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        if scope["method"] != "POST":
            await answer(send, 405, "request", "only GET and POST are answered")
            return
        if not hmac.compare_digest(dict(scope["headers"]).get(CSRF_HEADER, b""), self._csrf):
            await answer(send, 403, "origin", "the request brings no token of this page; load the page again")
            return
        chunks: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            chunks.append(message.get("body", b""))
            more = message.get("more_body", False)
            if sum(map(len, chunks)) > self._max:
                await answer(send, 413, "too_large", f"the body has more than the {self._max} bytes that are allowed")
                return
        messages: list[Message] = [{"type": "http.request", "body": b"".join(chunks), "more_body": False}]

        async def replay() -> "Message":
            return messages.pop() if messages else await receive()

        await self._app(scope, replay, send)
