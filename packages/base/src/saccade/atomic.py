"""Atomic writes: files that are there whole or not at all, with messages for a disk that refuses them.

``write_bytes_atomic`` also forces them to the disk; ``write_whole`` and ``link_or_copy`` do not, and many threads may
write one file.
"""

import errno
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from saccade.errors import MachineError, SaccadeError, UserError
from saccade.plain_files import ANY_BYTES, NotPlainError, plain_bytes
from saccade.types import Json

TEMPORARY_PREFIX = ".unfinished-"
"""Names of files being written begin so; what a killed process left under them may be deleted."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
_NOT_A_DIRECTORY = (errno.ENOTDIR, errno.EEXIST)


def write_bytes_atomic(path: Path, content: bytes) -> None:
    """Replace the file in one step that survives a crash: temporary file, fsync, rename, fsync of the directory.

    Raises UserError or MachineError as ``disk_errors`` does.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")
    with disk_errors(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def write_text_atomic(path: Path, text: str) -> None:
    """As ``write_bytes_atomic``, in UTF-8; lone surrogates, which UTF-8 cannot hold, become question marks."""
    write_bytes_atomic(path, text.encode("utf-8", errors="replace"))


def write_json_atomic(path: Path, value: Mapping[str, Json]) -> None:
    """As ``json_bytes`` has it."""
    write_bytes_atomic(path, json_bytes(value))


def json_bytes(value: Mapping[str, Json]) -> bytes:
    """Indented strict JSON; NaN and infinite numbers are a ValueError."""
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def sync_directory(path: Path) -> None:
    """Make renames and deletions in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError on ``path`` into a UserError (wrong place) or a MachineError (full or broken disk)."""
    try:
        yield
    except OSError as error:
        told = disk_error(error, path)
        if told is None:
            at = error.filename or path
            told = MachineError(f"{at}: {error.strerror or error}; the disk failed, not the run")
        raise told from error


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of reading ``path`` into a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error})") from error


def disk_error(error: OSError, path: Path | None = None) -> SaccadeError | None:
    """What to do about a place that refuses a file, or a full disk; None for other failures."""
    # Of a rename the second name is the place; the first is a temporary one.
    place = error.filename2 or error.filename or path
    at = "the disk" if place is None else str(place)
    if isinstance(error, NotPlainError):
        return UserError(str(error))
    reason = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        return MachineError(f"{at}: {reason}; free some space, then run the same command with --resume")
    if place is None:
        return None
    if error.errno in _NOT_ALLOWED:
        return UserError(f"{at} cannot be written ({reason}); choose another directory with --out")
    if error.errno in _NOT_A_DIRECTORY:
        return UserError(f"{at} is a file, not a directory; choose another --out")
    if error.errno == errno.EISDIR:
        return UserError(f"{at} is a directory, where a file is to be written; name a file in it")
    if error.errno == errno.ENAMETOOLONG:
        return UserError(f"{at}: {reason}; choose a shorter --out")
    return None


def refuse_link(path: Path) -> None:
    """UserError for a link where a file is written in place: in a folder from elsewhere it may lead to any file."""
    if path.is_symlink():
        raise UserError(
            f"{path} is a link to {path.readlink()}, and what is written there would land outside; put the file itself "
            "in its place, or delete the link"
        )


def check_in_place(descriptor: int, path: Path) -> None:
    """UserError when the open file at ``path`` was removed, or its folder moved: what follows would be lost."""
    try:
        is_there = os.fstat(descriptor).st_nlink > 0 and path.stat() is not None
    except OSError:
        is_there = False
    if not is_there:
        raise UserError(
            f"{path} was removed or moved while it was being written; put its folder back and go on with --resume, or "
            "start again"
        )


def link_or_copy(source: Path, path: Path) -> Path:
    """The content of ``source`` at ``path``, which is given back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A link to a link would break with the first one.
        os.link(source.resolve(), path)
    except OSError:
        # Another disk, or one without links.
        return write_whole(plain_bytes(source, ANY_BYTES), path)
    return path


def write_whole(content: bytes, path: Path) -> Path:
    """Write beside and rename, so that no half file is ever seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The system's umask says who may read it, as of any file; what tempfile makes is for its owner alone.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
