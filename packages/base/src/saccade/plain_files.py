"""Files that somebody else may have laid out are opened here: regular files alone, without waiting for anybody.

A FIFO in a folder that was unpacked would otherwise hold whoever opens it for ever, a device or a file of the kernel
could be read without an end, and opening some devices does something. Links are followed.
"""

import errno
import os
import stat
from collections.abc import Iterator
from functools import cache, partial
from io import DEFAULT_BUFFER_SIZE, BufferedReader, FileIO
from pathlib import Path
from typing import IO, AnyStr, TextIO

from saccade.errors import UserError

MAX_WHOLE_BYTES = 256 << 20
"""Of files that are read in one piece; a sparse file takes no disk, and would take all the memory."""
ANY_BYTES = 1 << 40
"""Of files that were always read in one piece, however long they are."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_KERNELS_OWN = (Path("/proc"), Path("/sys"))
_MORE_BYTES = 1 << 20


class NotPlainError(OSError):
    """The place holds no regular file, or one that is too large; ``strerror`` says what."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def open_plain(path: Path, *, buffer_bytes: int = DEFAULT_BUFFER_SIZE) -> BufferedReader:
    """The regular file at ``path``, opened for reading its bytes; ``NotPlainError`` or another OSError."""
    return BufferedReader(FileIO(path, opener=_descriptor), buffer_bytes)


def open_plain_text(path: Path, *, encoding: str = "utf-8", newline: str | None = None) -> TextIO:
    """As ``open_plain``, for reading text."""
    return open(path, encoding=encoding, newline=newline, opener=_descriptor)


def plain_bytes(path: Path, max_bytes: int = MAX_WHOLE_BYTES) -> bytes:
    """The content of a regular file; ``NotPlainError`` for more than ``max_bytes``, also while it grows."""
    pieces = []
    with open_plain(path) as file:
        wanted, left = os.fstat(file.fileno()).st_size + 1, max_bytes + 1
        while wanted <= left and (piece := file.read(wanted)):
            pieces.append(piece)
            left -= len(piece)
            wanted = min(_MORE_BYTES, max(1, left))
        if wanted > left:
            raise NotPlainError(errno.EFBIG, f"it has more than {max_bytes} bytes", str(path))
    return b"".join(pieces)


def plain_text(path: Path, encoding: str = "utf-8", max_bytes: int = MAX_WHOLE_BYTES) -> str:
    """As ``plain_bytes``, decoded, each end of a line as a newline; UnicodeDecodeError."""
    text = plain_bytes(path, max_bytes).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def plain_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """The lines of a file, as iterating over it gives them; ``NotPlainError`` for one that no memory may hold."""
    for line in iter(partial(file.readline, MAX_WHOLE_BYTES + 1), file.read(0)):
        if len(line) > MAX_WHOLE_BYTES:
            raise NotPlainError(errno.EFBIG, f"it has a line of more than {MAX_WHOLE_BYTES} bytes", file.name)
        yield line


def check_plain(path: Path) -> Path:
    """The path, for a library that opens it itself; ``NotPlainError`` or another OSError."""
    _check(path.stat(), str(path))
    return path


def check_plain_below(folder: Path) -> None:
    """UserError for a FIFO, a socket or a device anywhere below ``folder``, at the end of a link too.

    For what opens files of its own choice there: a library in a checkpoint, a run that is resumed. A folder that is not
    there holds none.
    """
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        # Hidden folders are other programs' own: git keeps a socket in its.
        folders += [entry.path for entry in found if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)]
        for entry in found:
            if not entry.is_file(follow_symlinks=False):
                _refuse_odd(Path(entry.path))


def _refuse_odd(path: Path) -> None:
    try:
        check_plain(path)
    except NotPlainError as error:
        raise UserError(f"{error}; delete it, and ask where the folder came from") from None
    except OSError:
        # A folder, or a link that leads nowhere: whoever needs it says so.
        return


def _descriptor(name: str, flags: int) -> int:
    # Looked at before it is opened, since opening a device may do something; and after, since it may be another then.
    _check(Path(name).stat(), name)
    descriptor = os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _check(os.fstat(descriptor), name)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(found: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise NotPlainError(errno.EINVAL, f"it is {kind}, not a file", name)
    if found.st_dev in _kernels_devices():
        raise NotPlainError(errno.EINVAL, "it is a file of the kernel's own, which may have no end", name)


@cache
def _kernels_devices() -> frozenset[int]:
    # Where they are not mounted they are folders of the disk.
    return frozenset(place.stat().st_dev for place in _KERNELS_OWN if place.is_mount())
