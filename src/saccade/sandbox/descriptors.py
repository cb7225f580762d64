"""A session's descriptors: the runner's own, the standard streams over them, and the places reached in open files."""

import io
import os
import select
from fcntl import F_GETFL, F_SETFL, fcntl
from os import SEEK_CUR, SEEK_SET, dup2, fstat, lseek

DEVNULL, OUT, ERR, CHANNEL, INBOX, IMAGES = range(100, 106)
"""Numbers of the runner's descriptors, out of the way of the model's."""

Identities = tuple[tuple[int, int], ...]


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


def places(watched: select.poll, most: int) -> list[tuple[int, int, int]]:
    """Number, offset (-1: it has none) and flags of the model's open files: a child shares both."""
    closed = {number for number, _ in watched.poll(0)}
    found = []
    for number in range(3, most):
        if number not in closed and not DEVNULL <= number <= IMAGES:
            try:
                found.append((number, lseek(number, 0, SEEK_CUR), fcntl(number, F_GETFL)))
            except OSError:
                found.append((number, -1, fcntl(number, F_GETFL)))
    return found


def restore(found: list[tuple[int, int, int]]) -> None:
    """Goes back to these offsets and flags."""
    for number, offset, flags in found:
        if offset >= 0:
            lseek(number, offset, SEEK_SET)
        if fcntl(number, F_GETFL) != flags:
            fcntl(number, F_SETFL, flags)


def take(sources: dict[int, int]) -> None:
    """Moves the runner's descriptors to their numbers, and closes all that this process holds besides."""
    for target, source in sources.items():
        os.dup2(source, target, inheritable=False)
    connect()
    os.closerange(3, DEVNULL)
    os.closerange(IMAGES + 1, 4096)
