"""Connections of a server: one that does not bring its request's headers in time, or brings too many, is ended."""

import asyncio

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADERS_WITHIN_S = 30.0

MAX_HEADER_BYTES = 64 << 10

MAX_CONNECTIONS = 4096


class TimedProtocol(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
    """uvicorn's, which limits neither the time nor the size of headers. Of bodies ``uploads`` takes care."""

    headers_within_s = HEADERS_WITHIN_S
    _watch: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        # Asked beforehand: a body's last bytes are not a header's first.
        is_body = before is not None and before.more_body
        super().data_received(data)
        if is_body or self.cycle is not before:
            self._header_bytes = 0
            self._stop_watch()
            return
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            self._end()
        elif self._watch is None:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watch()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        # Not by every byte anew: headers that trickle are late too.
        self._watch = self.loop.call_later(self.headers_within_s, self._end)

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _end(self) -> None:
        self._stop_watch()
        # A connection that became a WebSocket is another protocol's.
        if self.transport.get_protocol() is self:
            self.transport.abort()


def protocol_within(headers_within_s: float) -> type[asyncio.Protocol]:
    """The protocol for ``uvicorn.Config(http=...)``."""
    return type("TimedProtocol", (TimedProtocol,), {"headers_within_s": headers_within_s})
