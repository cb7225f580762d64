"""Origins of tools that this user's own runs have written: they need no further yes.

A file of the user's state (``$XDG_STATE_HOME/saccade``, else ``~/.local/state/saccade``), one hash a line. What lies in
a checkpoint cannot add to it.
"""

import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from saccade.types import Json

_FILE = "own_tool_origins"
_MAX_BYTES = 16 << 20
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

logger = logging.getLogger(__name__)


def origin_key(name: str, origin: Mapping[str, Json]) -> str:
    """The hash by which an origin of a tool of this name is known."""
    text = json.dumps([name, origin], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def own_origins() -> frozenset[str]:
    """The hashes of the file; none where there is no file, or it could be somebody else's."""
    try:
        path = _path()
        _check(path.parent, path.parent.stat())
        with os.fdopen(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
            _check(path, os.fstat(file.fileno()))
            return frozenset(file.read(_MAX_BYTES).decode("ascii", "replace").split())
    except _NotOursError as error:
        logger.warning("%s; tools of your own runs need your yes again", error)
    except (OSError, RuntimeError):
        # There is none, or not even a home.
        pass
    return frozenset()


def remember(keys: Iterable[str]) -> None:
    """Add hashes to the file; where it cannot be written, the question comes later."""
    wanted = set(keys)
    new = sorted(wanted - own_origins()) if wanted else []
    if not new:
        return
    try:
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check(path.parent, path.parent.stat())
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS, 0o600)
        try:
            _check(path, os.fstat(descriptor))
            # In one write, so that lines of several runs stay whole.
            os.write(descriptor, "".join(f"{key}\n" for key in new).encode("ascii"))
        finally:
            os.close(descriptor)
    except (OSError, _NotOursError, RuntimeError) as error:
        logger.info("the tools of this run are not remembered as your own (%s): its checkpoints need --allow", error)


class _NotOursError(Exception):
    """The file could have been written by others."""


def _path() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "saccade" / _FILE


def _check(path: Path, found: os.stat_result) -> None:
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _NotOursError(f"{path} is not used: it is no plain file or folder")
    if found.st_uid != os.geteuid():
        raise _NotOursError(f"{path} is not used: it belongs to another user")
    if found.st_mode & 0o022:
        raise _NotOursError(f"{path} is not used: others may write it; chmod go-w {path}")
