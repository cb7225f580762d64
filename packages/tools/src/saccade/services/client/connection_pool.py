"""Open connections to one server, for any number of threads.

Made of the standard library's HTTP: a general client takes three times the processor time for a small request, and
all rollout threads of a trainer share one interpreter.
"""

import http.client
import select
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from saccade.errors import UserError

KEPT_OPEN_S = 60.0
"""An idle connection; a server of ours closes it after 75."""

CONNECTION_ERRORS = (OSError, http.client.HTTPException)
"""Exceptions of a connection whose server cannot be reached."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A server's whole answer."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    content: bytes


class PooledConnection:
    """One connection, used by one thread at a time; made when it is needed, and again after the server ended it."""

    def __init__(self, connection: http.client.HTTPConnection, head: bytes) -> None:
        self._connection = connection
        self._head = head
        """The headers that are the same in every request."""
        self._used_s = 0.0

    def request(
        self, method: str, path: str, body: bytes, kind: str, *, connect_s: float, silence_s: float
    ) -> HttpAnswer:
        """The answer, or one of ``CONNECTION_ERRORS``. ``silence_s`` is how long the server may say nothing."""
        socket = self._connection.sock
        if socket is None or self._has_ended():
            self._connection.close()
            self._connection.timeout = connect_s
            self._connection.connect()
            socket = self._connection.sock
        socket.settimeout(silence_s)
        start = f"{method} {path} HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        # A server that refuses a body may end the connection before it has read it; it says why all the same.
        with suppress(BrokenPipeError, ConnectionResetError):
            # Together, so that the server reads them at once.
            socket.sendall(start.encode("ascii") + self._head + body)
        response = http.client.HTTPResponse(socket, method=method)
        response.begin()
        content = response.read()
        self._used_s = time.monotonic()
        if response.will_close:
            self._connection.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpAnswer(response.status, headers, content)

    def close(self) -> None:
        self._connection.close()

    def _has_ended(self) -> bool:
        if time.monotonic() - self._used_s > KEPT_OPEN_S:
            return True
        # Nothing is said on an idle connection but its end.
        idle = select.poll()
        idle.register(self._connection.sock, select.POLLIN)
        return bool(idle.poll(0))


class ConnectionPool:
    """Open connections. Each is used by one thread at a time, the one used last first."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        try:
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError as error:
            raise UserError(f"url={url!r}: {error}; it looks like http://127.0.0.1:8400") from error
        if not self._host:
            raise UserError(f"url={url!r} names no host; it looks like http://127.0.0.1:8400")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise UserError("token= has characters that no header can carry; use letters and digits")
        self.path = parts.path
        """Prefix of every path, where a proxy serves the tools below one of its own."""
        self._is_secure = parts.scheme == "https"
        bearer = "" if token is None else f"Authorization: Bearer {token}\r\n"
        netloc = parts.netloc.rpartition("@")[2]
        self._head = f"Host: {netloc}\r\nAccept-Encoding: identity\r\n{bearer}\r\n".encode("ascii")
        self._idle: list[PooledConnection] = []
        self._lock = threading.Lock()
        # Read once: certificates take longer to load than a call takes.
        self._trust = ssl.create_default_context()

    @contextmanager
    def line(self) -> Iterator[PooledConnection]:
        """A connection for one request; closed when the request fails."""
        with self._lock:
            line = self._idle.pop() if self._idle else None
        if line is None:
            line = PooledConnection(self._connection(), self._head)
        try:
            yield line
        except BaseException:
            line.close()
            raise
        with self._lock:
            self._idle.append(line)

    def close(self) -> None:
        with self._lock:
            lines, self._idle = self._idle, []
        for line in lines:
            line.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._is_secure:
            return http.client.HTTPSConnection(self._host, self._port, context=self._trust)
        return http.client.HTTPConnection(self._host, self._port)
