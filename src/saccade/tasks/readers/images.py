"""Images as rows give them: paths, bytes, ``{"bytes": ..., "path": ...}`` or data URLs."""

import base64
import binascii
import os
from pathlib import Path

from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.tasks.readers.fields import is_encodable, kind_of
from saccade.tasks.readers.rows import RowError, RowValue
from saccade.types import ImageRef


class ImageReader:
    """Opens the images of one file's rows; a picture that many rows share by path is decoded once.

    A relative path starts at ``root`` and may not leave it with ``..``; where ``root`` does not have it, one of the
    folders there may, as when an archive was unpacked into a folder of its own. An absolute path is taken as it is.
    """

    def __init__(self, root: Path, media: MediaStore) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100  links are kept: a linked image folder is inside
        self._media = media
        self._known: dict[Path, ImageRef] = {}
        self._folders: list[Path] | None = None

    def read(self, value: RowValue, key: str, where: str) -> ImageRef:
        """``where`` begins the message of an image without a path; ``RowError`` names the key."""
        try:
            return self._read(value, key, where)
        except MediaError as error:
            raise RowError(key, str(error).removeprefix(f"{where}: ")) from error

    def _read(self, value: RowValue, key: str, where: str) -> ImageRef:
        match value:
            case bytes():
                return self._media.add_encoded(value, where)
            case {"bytes": bytes() as raw}:
                return self._media.add_encoded(raw, where)
            case str() as text:
                return self._named(text, key, where)
            case {"path": str() as text} | {"image": str() as text}:
                return self._named(text, key, where)
        held = f"an object with the keys {', '.join(sorted(value))}" if isinstance(value, dict) else kind_of(value)
        raise RowError(key, f'must be a path, bytes, {{"bytes": ..., "path": ...}} or a data URL, not {held}')

    def _named(self, text: str, key: str, where: str) -> ImageRef:
        if text.startswith("data:"):
            return self._media.add_encoded(_data_url(text, key), where)
        return self._file(text.removeprefix("file://"), key)

    def _file(self, text: str, key: str) -> ImageRef:
        if "://" in text:
            raise RowError(key, f"{text[:80]!r} is on a network; download it and give its path")
        if not text or "\x00" in text or not is_encodable(text):
            raise RowError(key, f"{text[:80]!r} is not a path")
        path = Path(os.path.normpath(self._root / text))
        if not Path(text).is_absolute() and not path.is_relative_to(self._root):
            raise RowError(
                key, f"{text!r} leaves the folder {self._root}; set image_root (--image-root) to a folder that holds it"
            )
        if path not in self._known:
            self._known[path] = self._media.add_file(self._found(path, text, key))
        return self._known[path]

    def _found(self, path: Path, text: str, key: str) -> Path:
        """The path, or where its rest lies in a folder beside; ``RowError`` when several folders have it."""
        # These take any name: a path that is too long is simply not there.
        if Path(text).is_absolute() or os.path.exists(path):  # noqa: PTH110
            return path
        if self._folders is None:
            self._folders = _folders_in(self._root)
        rest = path.relative_to(self._root)
        places = [folder / rest for folder in self._folders if os.path.isfile(folder / rest)]  # noqa: PTH113
        if len(places) > 1:
            folders = ", ".join(place.parts[len(self._root.parts)] for place in places[:4])
            raise RowError(
                key,
                f"{text[:80]!r} lies in several folders ({folders}); set image_root (--image-root) to the one meant",
            )
        return places[0] if places else path


def _folders_in(root: Path) -> list[Path]:
    """The folders at ``root`` that are not hidden; none where it cannot be listed."""
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]


def _data_url(text: str, key: str) -> bytes:
    head, comma, body = text.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise RowError(key, f"a data URL must begin with data:image/...;base64, and not with {head[:40]!r}")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RowError(key, f"the data URL is not base64 ({error})") from error
