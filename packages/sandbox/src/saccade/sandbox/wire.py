"""Frames between the processes of the sandbox: a small JSON head, bytes, and file descriptors."""

import json
import os
import select
import socket
import struct
import time
from collections.abc import Sequence

Head = dict[str, object]

_SIZES = struct.Struct("<IQ")
MAX_HEAD = 1 << 20
_ANCILLARY = 512
"""Room for credentials and descriptors: too small a buffer drops descriptors without a word."""
LARGEST_MESSAGE = 1 << 16


class ClosedError(Exception):
    """The other side has closed its end, or died."""


class DeadlineError(Exception):
    """Nothing, or not all of it, came by the deadline."""


def send_frame(channel: socket.socket, head: Head, body: bytes = b"", descriptors: Sequence[int] = ()) -> None:
    """One frame, whole; ClosedError when the other end is closed."""
    text = json.dumps(head).encode()
    start = _SIZES.pack(len(text), len(body)) + text
    try:
        if descriptors:
            sent = socket.send_fds(channel, [start], list(descriptors))
        else:
            sent = channel.send(start)
        if sent < len(start):
            channel.sendall(memoryview(start)[sent:])
        if body:
            channel.sendall(body)
    except TimeoutError as error:
        raise DeadlineError from error
    except OSError as error:
        raise ClosedError from error


def receive_frame(
    channel: socket.socket, *, most: int = 1 << 30, deadline: float | None = None
) -> tuple[Head, bytearray, list[int]]:
    """The next frame's head, body and descriptors.

    ClosedError at the end, DeadlineError after ``deadline`` (monotonic seconds).
    """
    descriptors: list[int] = []
    try:
        start = _exactly(channel, _SIZES.size, deadline, descriptors)
        head_size, body_size = _SIZES.unpack(start)
        if head_size > MAX_HEAD or body_size > most:
            raise ClosedError("a frame is larger than any that this side expects")
        head = json.loads(_exactly(channel, head_size, deadline, descriptors))
        body = _exactly(channel, body_size, deadline, descriptors)
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    if not isinstance(head, dict):
        raise ClosedError("a frame's head is not an object")
    return head, body, descriptors


def _exactly(channel: socket.socket, count: int, deadline: float | None, descriptors: list[int]) -> bytearray:
    data = bytearray(count)
    view = memoryview(data)
    while view:
        _await_readable(channel, deadline)
        try:
            if descriptors or count != _SIZES.size:
                got = channel.recv_into(view)
            else:
                # Descriptors come with the first bytes of a frame, so with its sizes.
                chunk, found, _, _ = socket.recv_fds(channel, len(view), 8)
                descriptors += found
                got = len(chunk)
                view[:got] = chunk
        except OSError as error:
            raise ClosedError from error
        if got == 0:
            raise ClosedError
        view = view[got:]
    return data


def _await_readable(channel: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        return
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise DeadlineError


def packet_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends that keep messages whole; where there are credentials, the first end gets the writer of each one."""
    try:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError:  # macOS has no sequenced packets
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    if hasattr(socket, "SO_PASSCRED"):
        near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return near, far


def receive_packet(channel: socket.socket, flags: int = 0) -> tuple[Head, int, list[int]]:
    """A message, the process that the kernel says wrote it (0: unknown) and its descriptors.

    The writer may be hostile: anything that is not a JSON object is an empty one.
    """
    data, ancillary, _, _ = channel.recvmsg(LARGEST_MESSAGE, _ANCILLARY, flags)
    sender = 0
    descriptors: list[int] = []
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == getattr(socket, "SCM_CREDENTIALS", -1):
            sender = struct.unpack("iii", content)[0]
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            whole = len(content) // 4
            descriptors += struct.unpack(f"{whole}i", content[: whole * 4])
    if not data and not ancillary:
        raise ClosedError
    try:
        head = json.loads(data)
    except (ValueError, RecursionError):
        head = {}
    return (head if isinstance(head, dict) else {}), sender, descriptors


def whole_number(head: Head, name: str, default: int = 0) -> int:
    """A field that a hostile writer may have filled with anything."""
    value = head.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else default


def words(head: Head, name: str, most: int = 8192) -> str:
    """A text field, cut; empty when it is anything else."""
    value = head.get(name, "")
    # Lone surrogates cannot be written anywhere.
    return value[:most].encode("utf-8", "replace").decode() if isinstance(value, str) else ""
