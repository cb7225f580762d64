"""Files that are there whole or not at all, for many threads; unlike those of ``atomic`` not forced to the disk."""

import os
import secrets
from pathlib import Path


def link_or_copy(source: Path, path: Path) -> Path:
    """The content of ``source`` at ``path``, which is given back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A link to a link would break with the first one.
        os.link(source.resolve(), path)
    except OSError:
        # Another disk, or one without links.
        return write_whole(source.read_bytes(), path)
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
