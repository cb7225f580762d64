"""The folder of a server's images: held by a lock while the server lives, and removed when nobody holds it.

Whatever ends a server without its own clearing up (SIGKILL, the kernel's memory killer), its workers end too, and the
last of them, or else the next server of the same user, removes the folder.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")

_PREFIX = "saccade-images-"


@contextmanager
def image_directory(capacity_bytes: int) -> Iterator[Path]:
    """A directory of its own for a server's images, gone at the end; in memory where there is room for that."""
    for place in (MEMORY, Path(tempfile.gettempdir())):
        for old in place.glob(_PREFIX + "*"):
            remove_if_abandoned(old)
    directory, lock = _held(_place(capacity_bytes))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def remove_if_abandoned(directory: Path) -> bool:
    """Remove a folder of ours that no server holds; whether it was removed."""
    lock = _lock(directory)
    if lock is None:
        return False
    try:
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        os.close(lock)
    return True


def _held(place: Path | None) -> tuple[Path, int]:
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        lock = _lock(directory)
        if lock is None:
            continue
        # Another server, starting now, may have taken it for abandoned before it was held.
        if directory.is_dir():
            return directory, lock
        os.close(lock)


def _lock(directory: Path) -> int | None:
    """A descriptor that holds the folder, or None when another process does, or it is not ours."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _place(capacity_bytes: int) -> Path | None:
    """Memory takes a tenth of the time that a disk takes for a small file. Containers often have 64 MB of it."""
    try:
        has_room = shutil.disk_usage(MEMORY).free >= 2 * capacity_bytes
    except OSError:
        return None
    return MEMORY if has_room and os.access(MEMORY, os.W_OK) else None
