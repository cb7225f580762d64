"""A session's descriptors: the runner's own, the standard streams over them, and the places reached in open files."""

import contextlib
import io
import os
from os import SEEK_CUR, SEEK_SET, dup2, fstat, lseek

DEVNULL, OUT, ERR, CHANNEL, INBOX, IMAGES = range(100, 106)
"""Where the runner keeps its descriptors, out of the way of the model's."""

_MISSES = 32

Identities = tuple[tuple[int, int], ...]


def identities() -> Identities:
    """What the runner's descriptors stand for; others once code has put something else there, OSError when closed."""
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


def offsets() -> list[tuple[int, int]]:
    """How far the open files of the model's are read: a child shares that."""
    found, misses = [], 0
    for number in range(3, DEVNULL):
        try:
            found.append((number, lseek(number, 0, SEEK_CUR)))
            misses = 0
        except OSError:
            misses += 1
            if misses > _MISSES:
                break
    return found


def seek(found: list[tuple[int, int]]) -> None:
    """Goes back to these offsets."""
    for number, offset in found:
        with contextlib.suppress(OSError):
            lseek(number, offset, SEEK_SET)


def take(sources: dict[int, int]) -> None:
    """Moves the runner's descriptors to their numbers, and closes all that this process holds besides."""
    for target, source in sources.items():
        os.dup2(source, target, inheritable=False)
    connect()
    os.closerange(3, DEVNULL)
    os.closerange(IMAGES + 1, 4096)
