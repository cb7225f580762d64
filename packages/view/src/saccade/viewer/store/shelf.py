"""Pictures of other trainers' files: decoded, and kept by their content hash in the viewer's cache."""

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path

from saccade.media.decode import MediaError, decode_image
from saccade.media.store import MediaStore
from saccade.plain_files import plain_bytes
from saccade.types import ImageRef, Json

_MAX_BYTES = 32 << 20
_DATA = "data:image/"
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Shelf:
    """``folder`` takes the pictures; paths are followed inside of ``root`` alone, addresses never."""

    folder: Path
    root: Path

    def keep(self, value: Json) -> ImageRef | None:
        """The picture of a data address, of bytes in base64 or of a path; None where there is none that can be read."""
        raw = self._bytes(value)
        if raw is None or len(raw) > _MAX_BYTES:
            return None
        return self.keep_bytes(raw)

    def keep_bytes(self, raw: bytes) -> ImageRef | None:
        media = MediaStore()
        try:
            image = media.add(decode_image(raw, "a picture"))
            if not (self.folder / f"{image.hash}.png").exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                media.export(image, self.folder)
        except (MediaError, OSError, ValueError):
            return None
        return image

    def _bytes(self, value: Json) -> bytes | None:
        if not isinstance(value, str) or len(value) > 2 * _MAX_BYTES:
            return None
        if value.startswith(_DATA):
            _, _, encoded = value.partition("base64,")
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                return None
        return self._file(value)

    def _file(self, value: str) -> bytes | None:
        if len(value) > 1000 or "://" in value.removeprefix("file://") or "\0" in value:
            return None
        path = self.root / value.removeprefix("file://")
        try:
            inside = path.resolve(strict=True)
            if not inside.is_relative_to(self.root.resolve()) or inside.suffix.lower() not in _SUFFIXES:
                return None
            return plain_bytes(inside, _MAX_BYTES)
        except (OSError, RuntimeError):
            return None
