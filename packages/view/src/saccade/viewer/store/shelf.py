"""Pictures of other trainers' files: decoded, and kept by their content hash in the viewer's cache."""

import base64
import binascii
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saccade.media.decode import MediaError, decode_image
from saccade.media.store import MediaStore
from saccade.plain_files import plain_bytes
from saccade.types import ImageRef

_MAX_BYTES = 32 << 20
_KNOWN = 2000
"""Different pictures that are not decoded again, those of a group say; an index decodes no more than these."""
_DATA = "data:image/"
_LEFT_OUT = "<<<bytes>>>"
"""What ms-swift writes in the place of bytes."""
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"})
_BASE64 = ("iVBORw0KGgo", "/9j/", "UklGR", "R0lGOD", "Qk")
"""How PNG, JPEG, WebP, GIF and BMP begin in base64."""


class _NoPictureError(Exception):
    """Why a picture is not shown."""


@dataclass(kw_only=True, slots=True)
class Shelf:
    """``folder`` takes the pictures; paths are followed inside of ``root`` alone, addresses never."""

    folder: Path
    root: Path
    is_quick: bool = False
    """For an index, which shows the first picture of a record: further ones are not decoded, and that one stands for
    them."""
    lost: Counter[str] = field(default_factory=Counter)
    """Pictures that are not shown, by the reason."""
    identity: str = ""
    """Of a record's first picture, by its bytes: two questions in the same words are about different pictures."""
    _first: ImageRef | None = None
    _known: dict[bytes, ImageRef] = field(default_factory=dict)

    def begin(self) -> None:
        """The next record begins."""
        self._first, self.identity = None, ""

    def keep(self, value: object) -> ImageRef | None:
        """The picture of a data address, of bytes (in base64 too), of a path, or of a mapping with one of these.

        None where there is none that can be read; ``lost`` has the reason.
        """
        try:
            if self.is_quick and self._first is not None:
                if isinstance(value, str) and not value.startswith((_DATA, *_BASE64)):
                    self._path(value)
                return self._first
            raw = self._bytes(value)
            digest = hashlib.blake2b(raw, digest_size=16).digest()
            self.identity = self.identity or digest.hex()
            if self.is_quick and len(self._known) >= _KNOWN:
                return self._known.get(digest)
            image = self._kept(raw, digest)
        except _NoPictureError as error:
            self.lost[str(error)] += 1
            return None
        self._first = self._first or image
        return image

    def notes(self, name: str) -> tuple[str, ...]:
        """What is said of the pictures of a file that are not shown."""
        if not self.lost:
            return ()
        reasons = "; ".join(f"{count} {why}" for why, count in self.lost.most_common())
        return (f"{name}: pictures that are not shown: {reasons}",)

    def _kept(self, raw: bytes, digest: bytes) -> ImageRef:
        if (known := self._known.get(digest)) is not None:
            return known
        media = MediaStore()
        try:
            image = media.add(decode_image(raw, "a picture"))
            if not (self.folder / f"{image.hash}.png").exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                media.export(image, self.folder)
        except (MediaError, OSError, ValueError) as error:
            raise _NoPictureError("damaged, too large, or of a format that is not read") from error
        if len(self._known) < _KNOWN:
            self._known[digest] = image
        return image

    def _bytes(self, value: object) -> bytes:
        if isinstance(value, Mapping):
            # A picture of the data sets of Hugging Face, of OpenAI's and of Anthropic's messages, and of Trackio.
            named = [value.get(name) for name in ("bytes", "data", "path", "url", "file_path")]
            value = next((one for one in named if one and one != _LEFT_OUT), None)
        if isinstance(value, bytes) and len(value) <= _MAX_BYTES:
            return value
        if not isinstance(value, str) or len(value) > 2 * _MAX_BYTES:
            raise _NoPictureError("none in the file, or more than 32 MiB")
        if value.startswith(_DATA):
            return _decoded(value.partition("base64,")[2])
        if value.startswith(_BASE64) and "." not in value:
            return _decoded(value)
        try:
            return plain_bytes(self._path(value), _MAX_BYTES)
        except OSError as error:
            raise _NoPictureError("not there, or no file that can be read") from error

    def _path(self, value: str) -> Path:
        if "://" in value.removeprefix("file://"):
            raise _NoPictureError("an address elsewhere, which is never followed")
        if len(value) > 1000 or "\0" in value:
            raise _NoPictureError("no path")
        path = self.root / value.removeprefix("file://")
        try:
            inside = path.resolve(strict=True)
            if not inside.is_relative_to(self.root.resolve()):
                raise _NoPictureError("outside of the file's folder")
            if inside.suffix.lower() not in _SUFFIXES:
                raise _NoPictureError("no picture by its name")
            return inside
        except (OSError, RuntimeError) as error:
            raise _NoPictureError("not there, or no file that can be read") from error


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _NoPictureError("no base64") from error
