"""A session's descriptors: the runner's own, the standard streams over them, and the places reached in open files."""

import ctypes
import io
import os
import select
from fcntl import F_GETFL, F_SETFL
from os import SEEK_CUR, SEEK_SET, dup2, fstat, lseek
from typing import NamedTuple

DEVNULL, OUT, ERR, CHANNEL, INBOX, IMAGES = range(100, 106)
"""Numbers of the runner's descriptors, out of the way of the model's."""

# Of the C library: Python's own tells audit hooks of each call, and these may be the model's.
_fcntl = ctypes.PyDLL(None).fcntl

Identities = tuple[tuple[int, int], ...]


class OpenFile(NamedTuple):
    """One of the model's descriptors."""

    number: int
    offset: int
    """-1: it has none."""
    flags: int
    names: int
    """In how many folders it is; 0 once it was removed."""


def identities() -> Identities:
    """Device and inode of each of the runner's descriptors; they change once code has put another file there.

    OSError when one is closed.
    """
    found = [fstat(number) for number in range(DEVNULL, IMAGES + 1)]
    return tuple((stat.st_dev, stat.st_ino) for stat in found)


def connect() -> None:
    """Standard input is empty, standard output and error are the keeper's memory files."""
    for target, source in ((0, DEVNULL), (1, OUT), (2, ERR)):
        dup2(source, target)


def text_stream(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)


def usable(stream: io.TextIOWrapper, number: int) -> io.TextIOWrapper:
    """The stream, or a new one when code has closed it or taken its buffer away."""
    try:
        return text_stream(number) if stream.closed else stream
    except ValueError:
        return text_stream(number)


def watch(most: int) -> select.poll:
    """A poll of which of the session's descriptors are open, below ``most``."""
    poll = select.poll()
    for number in range(3, most):
        if not DEVNULL <= number <= IMAGES:
            poll.register(number, 0)
    return poll


def places(watched: select.poll, most: int) -> list[OpenFile]:
    """The model's open files, as a child shares them."""
    closed = {number for number, _ in watched.poll(0)}
    found = []
    for number in range(3, most):
        if number not in closed and not DEVNULL <= number <= IMAGES:
            try:
                offset = lseek(number, 0, SEEK_CUR)
            except OSError:
                offset = -1
            found.append(OpenFile(number, offset, _fcntl(number, F_GETFL, 0), fstat(number).st_nlink))
    return found


def restore(found: list[OpenFile]) -> bool:
    """Goes back to these offsets and flags; whether the files have as many names as then.

    They have not when a run that was undone had removed or replaced one: what has its name now is another file.
    """
    for number, offset, flags, _ in found:
        if offset >= 0:
            lseek(number, offset, SEEK_SET)
        if _fcntl(number, F_GETFL, 0) != flags:
            _fcntl(number, F_SETFL, flags)
    return all(fstat(one.number).st_nlink == one.names for one in found)


def take(sources: dict[int, int]) -> None:
    """Moves the runner's descriptors to their numbers, and closes all that this process holds besides."""
    for target, source in sources.items():
        os.dup2(source, target, inheritable=False)
    connect()
    os.closerange(3, DEVNULL)
    os.closerange(IMAGES + 1, 4096)
