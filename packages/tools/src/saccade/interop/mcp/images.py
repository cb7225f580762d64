"""Pictures that reach the MCP server in an argument: a data URL, a content hash, or a path where that is allowed."""

import base64
import binascii
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from cachetools import LRUCache

from saccade.errors import ToolError, UserError
from saccade.media.decode import ImageLimits, MediaError
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.plain_files import open_plain
from saccade.tools.arguments import json_excerpt
from saccade.types import ImageRef, Json

HASH = re.compile(r"[0-9a-f]{64}")
_DATA_URL = re.compile(r"data:image/[a-z0-9.+-]+;base64,", re.IGNORECASE)

SERVER_LIMITS = ImageLimits(max_bytes=32 << 20)
"""Limits of one picture that a client sends: 32 MiB encoded, 64 megapixels."""


class UnknownImageError(ToolError):
    """A content hash that the server does not hold, or no longer: send the picture itself."""


class ReceivedImages:
    """Pictures that a server has received or shown; safe to use from many threads.

    ``folders`` are where paths may lead; without any, paths are refused. The encoded pictures of the last calls and
    results are kept up to ``max_bytes`` in all, the least recently used ones make room.
    """

    def __init__(
        self, *, folders: Sequence[Path] = (), max_bytes: int = 256 << 20, limits: ImageLimits = SERVER_LIMITS
    ) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"the folder of pictures {folder} is not there; name a folder that exists")
        self._folders = tuple(folder.resolve() for folder in folders)
        self._limits = limits
        self._kept: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._lock = threading.Lock()

    @property
    def max_image_bytes(self) -> int:
        """Limit of one encoded picture."""
        return self._limits.max_bytes

    @property
    def forms(self) -> str:
        """The accepted forms, for the argument's description."""
        path = ", or a path on the server's machine" if self._folders else ""
        return (
            f"a picture: a data URL (data:image/png;base64,…) of at most {self._limits.max_bytes >> 20} MiB, or the "
            f"64 digits of the content hash of one that was sent or shown before{path}"
        )

    def add_to(self, media: MediaStore, value: Json) -> ImageRef:
        """The picture that an argument names, put into the store of a call; ``ToolError`` when there is none."""
        if not isinstance(value, str):
            raise ToolError(f"the argument image is {json_excerpt(value)}, but it must be {self.forms}")
        return self.add_encoded(media, self._picture_bytes(value))

    def add_encoded(self, media: MediaStore, raw: bytes) -> ImageRef:
        """A picture by its bytes, known by its hash from now on."""
        try:
            image = media.add_encoded(raw, "the argument image")
        except MediaError as error:
            raise ToolError(str(error)) from error
        self._keep(image.hash, raw)
        return image

    def png(self, media: MediaStore, image: ImageRef) -> bytes:
        """A result's picture as PNG, known by its hash from now on."""
        raw = png_bytes(media.get(image))
        self._keep(image.hash, raw)
        return raw

    def store(self) -> MediaStore:
        """An empty store with this server's limits, for one call."""
        return MediaStore(limits=self._limits)

    def _picture_bytes(self, text: str) -> bytes:
        header = _DATA_URL.match(text)
        if header:
            return self._from_base64(text[header.end() :])
        if HASH.fullmatch(text):
            return self._by_hash(text)
        if not self._folders or text.startswith("data:"):
            raise ToolError(f"the argument image is {json_excerpt(text)}, but it must be {self.forms}")
        return self._from_path(text.removeprefix("file://"))

    def _from_base64(self, text: str) -> bytes:
        if len(text) > self._limits.max_bytes * 4 // 3 + 4:
            raise ToolError(
                f"the picture in the argument image has more than {self._limits.max_bytes} bytes; shrink it"
            )
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ToolError(f"the data URL in the argument image is not base64 ({error})") from error

    def _by_hash(self, key: str) -> bytes:
        with self._lock:
            if key not in self._kept:
                raise UnknownImageError(f"no picture with the hash {key} is held here; send it as a data URL")
            return self._kept[key]

    def _from_path(self, text: str) -> bytes:
        # Resolved first: neither dots nor links may lead out of the folders.
        try:
            path = Path(text).resolve()
        except (OSError, ValueError) as error:
            raise ToolError(f"the argument image is {json_excerpt(text)}, which is no path ({error})") from error
        if not any(path.is_relative_to(folder) for folder in self._folders):
            names = ", ".join(str(folder) for folder in self._folders)
            raise ToolError(f"the argument image is {json_excerpt(text)}, but paths must lie in {names}")
        try:
            with open_plain(path) as file:
                return file.read(self._limits.max_bytes + 1)
        except OSError as error:
            raise ToolError(f"the picture {json_excerpt(text)} cannot be read: {error.strerror}") from error

    def _keep(self, key: str, raw: bytes) -> None:
        with self._lock:
            if len(raw) <= self._kept.maxsize:
                self._kept[key] = raw
