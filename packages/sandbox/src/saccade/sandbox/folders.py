"""Folders of the host for sessions without a file system in memory, and sweeping those that a killed run has left."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "saccade-sandbox-"
_LOCK = "held"
_YOUNG_S = 60.0
"""Younger folders may not be held yet."""


def make() -> str:
    """A fresh folder; abandoned ones are removed on the way."""
    for old in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        if _is_abandoned(old):
            remove(str(old))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # Others may pass through, to the session's folder that is theirs.
    folder.chmod(0o711)
    (folder / _LOCK).touch(mode=0o600)
    return str(folder)


def hold(folder: str) -> int:
    """Marks a folder as used by this process and those forked from it, for as long as one of them lives."""
    lock = os.open(f"{folder}/{_LOCK}", os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        about = folder.lstat()
        if about.st_uid != os.geteuid() or time.time() - about.st_mtime < _YOUNG_S:
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
