"""Images by content: each picture is held once, as its original bytes, and decoded again when needed.

A picture that a program made has no bytes; it gets some when it leaves the cache of decoded ones.
"""

import binascii
import hashlib
import struct
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from saccade.atomic import link_or_copy, write_whole
from saccade.media.conversion import strips_of
from saccade.media.decode import DEFAULT_LIMITS, ImageLimits, MediaError, decode_image, to_rgb
from saccade.media.encode import png_bytes
from saccade.plain_files import open_plain
from saccade.types import ImageRef

BYTES_PER_PIXEL = 3


@dataclass(frozen=True, slots=True)
class _StoredImage:
    """Backing by bytes in memory."""

    raw: bytes
    where: str


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Backing by the picture itself, until it leaves the cache: most that tools make are forgotten before that."""

    picture: Image.Image


@dataclass(frozen=True, slots=True)
class _OnDisk:
    """Backing by a file that must not change while the store lives."""

    path: Path


@dataclass(frozen=True, slots=True)
class _InText:
    """Backing by base64 inside a file of text that must not change while the store lives."""

    path: Path
    start: int
    length: int

    @property
    def where(self) -> str:
        return f"{self.path}, base64 at byte {self.start}"


_Backing = _StoredImage | _Fresh | _OnDisk | _InText


def image_hash(image: Image.Image) -> str:
    """SHA-256 over width, height (little-endian, 32 bit each) and the RGB bytes of an RGB image."""
    digest = hashlib.sha256(struct.pack("<II", image.width, image.height))
    # Strip by strip: Pillow makes two copies of what it gives as bytes.
    for strip in strips_of(image):
        digest.update(strip.tobytes())
    return digest.hexdigest()


class MediaStore:
    """Content-addressed images; safe to use from many threads.

    ``directory`` keeps images made by tools as ``<hash>.png`` files instead of in memory, and finds those
    that an earlier run left there. ``cache_bytes`` bounds the decoded images that are held ready.
    """

    def __init__(
        self, directory: Path | None = None, *, cache_bytes: int = 256 << 20, limits: ImageLimits = DEFAULT_LIMITS
    ) -> None:
        self._directory = directory
        self._limits = limits
        self._backings: dict[str, _Backing] = {}
        self._cache: OrderedDict[str, Image.Image] = OrderedDict()
        self._cache_bytes, self._cached_bytes = cache_bytes, 0
        self._lock = threading.Lock()
        self._temporary: list[set[str]] = []
        self._lent: Counter[str] = Counter()
        self._lending = threading.Lock()

    def __deepcopy__(self, memo: dict[int, object]) -> "MediaStore":
        """A store is shared, never copied: environments that hold one may be copied freely."""
        return self

    def __getstate__(self) -> dict[str, object]:
        """A copy for another process: all that it holds, decoded pictures and the lock aside."""
        with self._lock:
            backings = dict(self._backings)
        return {
            "directory": self._directory,
            "cache_bytes": self._cache_bytes,
            "limits": self._limits,
            "backings": backings,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        backings = state.pop("backings")
        self.__init__(**state)  # type: ignore[misc]
        self._backings.update(backings)  # type: ignore[call-overload]

    @contextmanager
    def temporary(self) -> Iterator[None]:
        """Forgets at the end what was first added inside, so that a long run does not grow with every step."""
        added: set[str] = set()
        self._temporary.append(added)
        try:
            yield
        finally:
            with self._lock:
                self._temporary.remove(added)
                for key in added:
                    self._backings.pop(key, None)
                    self._uncache(key)

    @contextmanager
    def lent(self, pictures: Iterable[Image.Image]) -> Iterator[list[ImageRef]]:
        """The pictures, in their order, while the block runs.

        Those that were not there before are forgotten when the last block ends that was lent them: blocks may overlap,
        in several threads too.
        """
        given: list[ImageRef] = []
        borrowed: list[ImageRef] = []
        try:
            for picture in pictures:
                with self._lending:
                    is_new = image_hash(to_rgb(picture, "a picture that is lent")) not in self
                    one = self.add(picture)
                    given.append(one)
                    if is_new or self._lent[one.hash]:
                        self._lent[one.hash] += 1
                        borrowed.append(one)
            yield given
        finally:
            for one in borrowed:
                with self._lending:
                    self._lent[one.hash] -= 1
                    if not self._lent[one.hash]:
                        del self._lent[one.hash]
                        self.forget(one)

    def forget(self, image: ImageRef) -> None:
        """Drops a picture that nothing needs any more, and the file of it that this store has made."""
        with self._lock:
            backing = self._backings.pop(image.hash, None)
            self._uncache(image.hash)
        if isinstance(backing, _OnDisk) and backing.path.parent == self._directory:
            backing.path.unlink(missing_ok=True)

    def add(self, image: Image.Image) -> ImageRef:
        """Keep a picture that a program made; the caller may go on drawing on its own copy."""
        rgb = to_rgb(image, "an image given to the media store")
        key = image_hash(rgb)
        if key not in self:
            directory = self._directory
            self._keep(key, _OnDisk(_write_png(rgb, directory / f"{key}.png")) if directory else _Fresh(rgb))
        self._remember(key, rgb)
        return ImageRef(hash=key, width=rgb.width, height=rgb.height)

    def add_encoded(self, raw: bytes, where: str) -> ImageRef:
        """Keep an encoded image by its bytes; ``MediaError`` names ``where`` when it cannot be decoded."""
        image = decode_image(raw, where, self._limits)
        return self._add_decoded(image, _StoredImage(raw, where))

    def add_file(self, path: Path) -> ImageRef:
        """Keep an image file by its path; it is read again whenever the decoded picture is not cached."""
        image = decode_image(self._read(path), str(path), self._limits)
        return self._add_decoded(image, _OnDisk(path.absolute()))

    def add_base64_in(self, path: Path, start: int, length: int) -> ImageRef:
        """Keep an image by where its base64 stands in a file, which is read again whenever it is needed.

        ``MediaError`` names file and place when it cannot be decoded.
        """
        backing = _InText(path.absolute(), start, length)
        return self._add_decoded(self._decode(backing), backing)

    def get(self, image: ImageRef | str) -> Image.Image:
        """The RGB picture, shared with all other callers: copy it before drawing on it.

        ``KeyError`` when the store never held it, ``MediaError`` when its file has changed since.
        """
        key = image if isinstance(image, str) else image.hash
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            backing = self._backings.get(key)
        if backing is None:
            path = self._left_on_disk(key)
            if path is None:
                raise KeyError(f"no image {key} in this media store")
            backing = _OnDisk(path)
        if isinstance(backing, _Fresh):
            return backing.picture
        decoded = self._decode(backing)
        if image_hash(decoded) != key:
            source = backing.path if isinstance(backing, _OnDisk) else backing.where
            raise MediaError(
                f"{source}: the image has changed since it was first read; do not change files during a run,"
                " or start a new run"
            )
        self._remember(key, decoded)
        return decoded

    def export(self, image: ImageRef | str, directory: Path) -> Path:
        """Write ``directory/<hash>.png`` in one atomic step unless it is there, and give its path."""
        key = image if isinstance(image, str) else image.hash
        path = directory / f"{key}.png"
        return path if path.exists() else _write_png(self.get(key), path)

    def export_source(self, image: ImageRef | str, directory: Path) -> Path:
        """As ``export``, but for an image that came from a file, that file: linked where it can be, else copied.

        Photographs take a tenth of the space so. The file keeps its ending: ``directory/<hash>.jpg``.
        """
        key = image if isinstance(image, str) else image.hash
        with self._lock:
            backing = self._backings.get(key)
        if not isinstance(backing, _OnDisk) or not backing.path.suffix[1:].isalnum():
            return self.export(image, directory)
        path = directory / f"{key}{backing.path.suffix.lower()}"
        return path if path.exists() else link_or_copy(backing.path, path)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        with self._lock:
            if key in self._backings:
                return True
        return self._left_on_disk(key) is not None

    def _add_decoded(self, image: Image.Image, backing: _Backing) -> ImageRef:
        key = image_hash(image)
        self._keep(key, backing)
        self._remember(key, image)
        return ImageRef(hash=key, width=image.width, height=image.height)

    def _keep(self, key: str, backing: _Backing) -> None:
        with self._lock:
            if key not in self._backings:
                self._backings[key] = backing
                if self._temporary:
                    self._temporary[-1].add(key)

    def _remember(self, key: str, image: Image.Image) -> None:
        """Cache a decoded picture; the least recently used ones make room. One larger than the cache is not kept."""
        size, gone = _decoded_size(image), []
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return
            if size > self._cache_bytes:
                gone.append(key)
            else:
                while self._cached_bytes + size > self._cache_bytes:
                    gone.append(next(iter(self._cache)))
                    self._uncache(gone[-1])
                self._cache[key] = image
                self._cached_bytes += size
        for oldest in gone:
            self._encode(oldest)

    def _uncache(self, key: str) -> None:
        """Forgets a decoded picture; the lock is held."""
        picture = self._cache.pop(key, None)
        self._cached_bytes -= 0 if picture is None else _decoded_size(picture)

    def _encode(self, key: str) -> None:
        """Keeps a picture that has left the cache by its bytes."""
        with self._lock:
            fresh = self._backings.get(key)
        if isinstance(fresh, _Fresh):
            encoded = _StoredImage(png_bytes(fresh.picture), f"image {key}")
            with self._lock:
                if self._backings.get(key) is fresh:
                    self._backings[key] = encoded

    def _decode(self, backing: _StoredImage | _OnDisk | _InText) -> Image.Image:
        if isinstance(backing, _StoredImage):
            return decode_image(backing.raw, backing.where, self._limits)
        if isinstance(backing, _InText):
            return decode_image(self._read_base64(backing), backing.where, self._limits)
        return decode_image(self._read(backing.path), str(backing.path), self._limits)

    def _read(self, path: Path) -> bytes:
        """At most one byte more than the limit, so that a huge file is refused without being read."""
        try:
            with open_plain(path) as file:
                return file.read(self._limits.max_bytes + 1)
        except OSError as error:
            raise MediaError(f"{path}: the image file cannot be read ({error.strerror})") from error

    def _read_base64(self, backing: _InText) -> bytes:
        if backing.length > 4 * self._limits.max_bytes // 3 + 4:
            raise MediaError(f"{backing.where}: {backing.length:,} bytes are more than an image may have")
        try:
            with open_plain(backing.path) as file:
                file.seek(backing.start)
                return binascii.a2b_base64(file.read(backing.length))
        except OSError as error:
            raise MediaError(f"{backing.path}: the file cannot be read ({error.strerror})") from error
        except binascii.Error as error:
            raise MediaError(f"{backing.where}: the image is not base64 ({error})") from error

    def _left_on_disk(self, key: str) -> Path | None:
        # Only a hash is joined to the directory: a key from elsewhere must not name another file.
        if self._directory is None or len(key) != 64 or not all(c in "0123456789abcdef" for c in key):
            return None
        path = self._directory / f"{key}.png"
        return path if path.is_file() else None


def _decoded_size(image: Image.Image) -> int:
    return image.width * image.height * BYTES_PER_PIXEL


def _write_png(image: Image.Image, path: Path) -> Path:
    return write_whole(png_bytes(image), path)
