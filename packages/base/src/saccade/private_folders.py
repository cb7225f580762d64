"""Folders for code that is kept to be run again: they belong to the user alone, or they are not used.

A cache may lie where others write, by its variable or by a library's default, and what they put there would run.
"""

import errno
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)


def cache_folder(name: str) -> Path:
    """``$XDG_CACHE_HOME/saccade/NAME``, by default below ``~/.cache``; nothing is made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "saccade" / name


@contextmanager
def private_folder(folder: Path) -> Iterator[int]:
    """A descriptor of the folder, made where it is missing; PermissionError where it is another's, or others write it.

    Other OSErrors where it cannot be made, or is no folder, or a link. Nobody else can change what is in it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not is_private(os.fstat(descriptor)):
            raise PermissionError(errno.EPERM, "it is another user's, or others may write there", str(folder))
        yield descriptor
    finally:
        os.close(descriptor)


def is_private(found: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else may write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def keep_compiled_code_private() -> None:
    """Has torch keep what it compiles in a folder of this user's alone, unless the environment names another.

    Its own default is a name in the folder for temporary files, which any user of the machine may take first.
    """
    if os.environ.get(_TORCHS_FOLDER):
        return
    folder = cache_folder("inductor")
    try:
        with private_folder(folder):
            os.environ[_TORCHS_FOLDER] = str(folder)
    except OSError as error:
        os.environ[_TORCHS_FOLDER] = tempfile.mkdtemp(prefix="saccade-inductor-")
        logger.warning("%s: %s; compiled code is kept for this process alone", folder, error.strerror)


_TORCHS_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
