"""Access to a server on this machine by origin: programs and pages of its own have it, other pages have none.

A page of any site may send requests to this machine from a browser, and by a name of its own that it lets point here
(DNS rebinding) it could read the answers too. So the name in ``Host`` must be one of this machine, and ``Origin``,
which browsers add and programs leave out, must be the server's own.
"""

import ipaddress
import json
import socket
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send


class OriginGuard:
    """An ASGI application in front of another, for HTTP and WebSockets.

    ``host`` is the address that the server listens on, ``allow_hosts`` are names that its clients use for it. Beyond
    loopback, with a token, names are not looked at: a page does not know the token, and clusters have names that are
    not known here.
    """

    def __init__(self, app: ASGIApp, *, host: str, has_token: bool, allow_hosts: Sequence[str] = ()) -> None:
        self._app = app
        self._host = host
        self._allowed = frozenset(name.lower() for name in allow_hosts)
        self._checks_names = is_loopback(host) or not has_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        why = None if scope["type"] == "lifespan" else self._refusal(scope["headers"])
        if why is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        else:
            await _refuse(send, why)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Why a request with these headers is not let through; None when it is."""
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


def is_own_name(name: str, listening_on: str) -> bool:
    """Whether a request under this name can only be meant for the server that listens there."""
    if name in ("localhost", listening_on.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        # Whoever sends a page here by a name of theirs does not have this machine's.
        return not is_loopback(listening_on) and name in (socket.gethostname().lower(), socket.getfqdn().lower())
    return address.is_loopback or not is_loopback(listening_on)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """Without the port, and without an IPv6 address's brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


async def _refuse(send: Send, why: str) -> None:
    error: dict[str, object] = {"kind": "origin", "message": why, "missing": [], "retry_after_s": None}
    body = json.dumps({"error": error}).encode("ascii")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
