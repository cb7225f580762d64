"""Frames between processes, on a socket: a JSON header and binary parts, each with its length.

A frame is a 32-bit count of parts, the 32-bit length of each, and the parts; the first part is the header.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.types import Json

MAX_PARTS = 4096
MAX_PART_BYTES = 1 << 31


class BrokenFrameError(Exception):
    """The other side has ended, or does not speak this language."""


@dataclass(frozen=True, slots=True)
class WireFrame:
    """A message."""

    header: Mapping[str, Json]
    parts: Sequence[bytes] = ()


def packed(frame: WireFrame) -> bytes:
    """The frame's bytes."""
    pieces = [json.dumps(frame.header).encode("ascii"), *frame.parts]
    lengths = struct.pack(f"!{len(pieces) + 1}I", len(pieces), *map(len, pieces))
    return b"".join([lengths, *pieces])


def receive(connection: socket.socket) -> WireFrame:
    """The next frame of a blocking socket; ``BrokenFrameError`` at its end."""
    lengths = _lengths(_exactly(connection, 4 * _count(_exactly(connection, 4))))
    return _frame([_exactly(connection, length) for length in lengths])


async def read(reader: asyncio.StreamReader) -> WireFrame:
    """The next frame of a stream; ``BrokenFrameError`` at its end."""
    try:
        lengths = _lengths(await reader.readexactly(4 * _count(await reader.readexactly(4))))
        return _frame([await reader.readexactly(length) for length in lengths])
    except (asyncio.IncompleteReadError, OSError) as error:
        raise BrokenFrameError("the other side has ended") from error


def _count(packed_count: bytes) -> int:
    (count,) = struct.unpack("!I", packed_count)
    if not 0 < count <= MAX_PARTS:
        raise BrokenFrameError(f"a frame of {count} parts")
    return int(count)


def _lengths(packed_lengths: bytes) -> tuple[int, ...]:
    lengths = struct.unpack(f"!{len(packed_lengths) // 4}I", packed_lengths)
    if max(lengths) > MAX_PART_BYTES:
        raise BrokenFrameError(f"a part of {max(lengths)} bytes")
    return lengths


def _frame(pieces: Sequence[bytes]) -> WireFrame:
    try:
        header = json.loads(pieces[0])
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError("a header that is not JSON") from error
    if not isinstance(header, dict):
        raise BrokenFrameError("a header that is no object")
    return WireFrame(header, pieces[1:])


def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes: ``recv`` gives what has come so far."""
    if size == 0:
        return b""
    try:
        first = connection.recv(size)
        if len(first) == size:
            return first
        received = bytearray(first)
        while first and len(received) < size:
            first = connection.recv(min(size - len(received), 1 << 20))
            received += first
    except OSError as error:
        raise BrokenFrameError("the other side has ended") from error
    if len(received) < size:
        raise BrokenFrameError("the other side has ended")
    return bytes(received)
