"""Images of a server: files named by the hash of their pixels, in a folder held by a lock while the server lives.

Workers read the files themselves. An image that an accepted call is about is held until the call has ended; the least
recently used ones are evicted. Whatever ends a server without its own clearing up (SIGKILL, the kernel's memory
killer), its workers end too, and the last of them, or else the next server of the same user, removes the folder.
"""

import fcntl
import os
import re
import shutil
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from saccade.media.decode import DEFAULT_LIMITS, ImageLimits, MediaError, decode_image
from saccade.media.store import image_hash
from saccade.types import ImageRef

MEMORY = Path("/dev/shm")

_PREFIX = "saccade-images-"


@contextmanager
def image_directory(capacity_bytes: int) -> Iterator[Path]:
    """A directory of its own for a server's images, gone at the end; in memory where there is room for that."""
    for place in (MEMORY, Path(tempfile.gettempdir())):
        for old in place.glob(_PREFIX + "*"):
            remove_if_abandoned(old)
    directory, lock = _hold_directory(_place(capacity_bytes))
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


def _hold_directory(place: Path | None) -> tuple[Path, int]:
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


HASH = re.compile(r"[0-9a-f]{64}")


class WrongHashError(MediaError):
    """An image that was sent under the hash of another one."""


def image_file(shelf: Path, key: str) -> Path:
    """Path of an image. The key must be a hash: it becomes a file's name."""
    if not HASH.fullmatch(key):
        raise MediaError(f"{key[:80]!r} is no hash of an image: 64 of 0-9 and a-f")
    return shelf / key


class ImageShelf:
    """The images of a server; safe to use from many threads. ``directory`` is its own and exists."""

    def __init__(self, directory: Path, *, capacity_bytes: int, limits: ImageLimits = DEFAULT_LIMITS) -> None:
        self.directory = directory
        self._capacity_bytes = capacity_bytes
        self._limits = limits
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return len(self._sizes)

    @property
    def held_bytes(self) -> int:
        """Bytes of all files together; over the capacity only by what calls in progress need."""
        return self._bytes

    def add(self, raw: bytes, expected: str | None = None) -> ImageRef:
        """Keep an image that was sent; ``MediaError`` when it cannot be used or is not the one expected."""
        image = decode_image(raw, "the body", self._limits)
        key = image_hash(image)
        if expected is not None and key != expected:
            raise WrongHashError(
                f"the body is the image {key}, not {expected}; the hash is SHA-256 over width and height "
                "(little-endian, 32 bit each) and the upright RGB pixels"
            )
        self.add_known(key, raw)
        return ImageRef(hash=key, width=image.width, height=image.height)

    def add_known(self, key: str, raw: bytes) -> None:
        """Keep a file whose hash one of the server's own processes has computed."""
        path = image_file(self.directory, key)
        with self._lock:
            if key in self._sizes:
                self._sizes.move_to_end(key)
                return
            # No care for crashes: the directory goes with the server, and no file is read before it is listed.
            path.write_bytes(raw)
            self._sizes[key] = len(raw)
            self._bytes += len(raw)
            self._evict(keeping=key)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those that are not here, each once."""
        with self._lock:
            return [key for key in dict.fromkeys(keys) if key not in self._sizes]

    def read(self, key: str) -> bytes | None:
        """The image's file as it was sent."""
        if not HASH.fullmatch(key):
            return None
        with self._lock:
            if key in self._sizes:
                self._sizes.move_to_end(key)
        try:
            return image_file(self.directory, key).read_bytes()
        except FileNotFoundError:
            return None

    def hold(self, keys: Sequence[str]) -> list[str]:
        """Keep all of these from being evicted until ``release``; or, when some are missing, none: those."""
        with self._lock:
            missing = [key for key in dict.fromkeys(keys) if key not in self._sizes]
            if not missing:
                for key in keys:
                    self._held[key] += 1
                    self._sizes.move_to_end(key)
            return missing

    def release(self, keys: Sequence[str]) -> None:
        """The end of a ``hold``."""
        with self._lock:
            self._held.subtract(keys)
            for key in set(keys):
                if self._held[key] <= 0:
                    del self._held[key]
            self._evict()

    def _evict(self, keeping: str | None = None) -> None:
        if self._bytes <= self._capacity_bytes:
            return
        for key in self._evictable(keeping):
            self._bytes -= self._sizes.pop(key)
            image_file(self.directory, key).unlink(missing_ok=True)
            if self._bytes <= self._capacity_bytes:
                return

    def _evictable(self, keeping: str | None) -> list[str]:
        return [key for key in self._sizes if key != keeping and key not in self._held]
