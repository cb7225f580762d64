"""Connections of a server: one that brings its request's headers late, brings too many, or does not read is ended."""

import asyncio
import re
import socket
import struct
from contextlib import suppress

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADERS_WITHIN_S = 30.0
"""Also how long a client may read less than ``READ_BYTES`` of its answer."""

READ_BYTES = 64 << 10

MAX_HEADER_BYTES = 64 << 10

_HEADERS_END = re.compile(rb"\n\r?\n")

MAX_CONNECTIONS = 4096


class TimedProtocol(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
    """uvicorn's, which limits neither the time nor the size of headers. Bodies are limited by ``UploadGuard``."""

    within_s = HEADERS_WITHIN_S
    _watch: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _tail = b""
    """Of the headers so far: their end may come in two pieces."""
    _reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        # So that pause_writing tells of every byte that waits for the client: closing would wait for it too.
        transport.set_write_buffer_limits(high=0)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        # Asked beforehand: a body's last bytes are not a header's first.
        is_body = before is not None and before.more_body
        if not is_body:
            end = _HEADERS_END.search(self._tail + data)
            self._header_bytes += len(data) if end is None else max(0, end.end() - len(self._tail))
            self._tail = (self._tail + data)[-3:]
            if self._header_bytes > MAX_HEADER_BYTES:
                self._end()
                return
        super().data_received(data)
        if is_body or self.cycle is not before:
            self._header_bytes, self._tail = 0, b""
            self._stop_watch()
        elif self._watch is None:
            self._await_headers()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watch()
        self._stop_reader()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        # Not by every byte anew: headers that trickle are late too.
        self._watch = self.loop.call_later(self.within_s, self._end)

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _await_reader(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._reader = self.loop.call_later(self.within_s, self._look_at_reader, waiting)

    def _look_at_reader(self, waited: int) -> None:
        if waited - self.transport.get_write_buffer_size() < READ_BYTES:
            drop(self.transport)
        else:
            self._await_reader()

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def _end(self) -> None:
        self._stop_watch()
        # A connection that became a WebSocket is another protocol's.
        if self.transport.get_protocol() is self:
            self.transport.abort()


def drop(transport: asyncio.Transport) -> None:
    """End a connection with all that waits to be sent: the kernel would keep its share of it for minutes."""
    at_once = struct.pack("ii", 1, 0)
    # It may have ended by itself.
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    transport.abort()


def protocol_within(within_s: float) -> type[asyncio.Protocol]:
    """The protocol for ``uvicorn.Config(http=...)``."""
    return type("TimedProtocol", (TimedProtocol,), {"within_s": within_s})
