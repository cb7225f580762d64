"""Images of a row with their targets: boxes in pixels."""

import base64
import binascii
import os
from collections.abc import Sequence
from pathlib import Path

from saccade.geometry import Box
from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number, is_encodable, kind_of, listed, literal, short
from saccade.types import ImageRef, Target

EDGE_SLACK_PX = 1.0
"""A box may reach this far over the image's edge, as rounding makes it, and is then cut off there."""

_BASE64_STARTS = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR")
"""How the base64 of a JPEG, PNG, GIF and WebP begins."""
SHORTEST_BASE64 = 64

BOX_KEYS = ("bbox", "box", "bbox_2d")
LABEL_KEYS = ("label", "name")


class ImageReader:
    """Opens the images of one file's rows; a picture that many rows share by path is decoded once.

    A relative path starts at ``root`` and may not leave it with ``..``; where ``root`` does not have it, one of the
    folders there may, as when an archive was unpacked into a folder of its own. An absolute path is taken as it is,
    unless the rows come ``from_hub``, where it is of somebody else's machine: then it must lie in ``root`` or in the
    hub's caches.
    """

    def __init__(self, root: Path, media: MediaStore, *, from_hub: bool = False) -> None:
        self._from_hub = from_hub
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
                return self._image_at(text, key, where)
            case {"path": str() as text} | {"image": str() as text}:
                return self._image_at(text, key, where)
        held = f"an object with the keys {', '.join(sorted(value))}" if isinstance(value, dict) else kind_of(value)
        raise RowError(key, f'must be a path, bytes, {{"bytes": ..., "path": ...}} or a data URL, not {held}')

    def _image_at(self, text: str, key: str, where: str) -> ImageRef:
        if text.startswith("data:"):
            return self._media.add_encoded(_data_url(text, key), where)
        if text.startswith(_BASE64_STARTS) and len(text) > SHORTEST_BASE64:
            return self._media.add_encoded(_base64(text, key), where)
        path = self.path_of(text, key)
        if path not in self._known:
            try:
                self._known[path] = self._media.add_file(path)
            except MediaError as error:
                if Path(text).is_absolute() or os.path.exists(path):  # noqa: PTH110
                    raise
                why = f"{error}; set image_root (--image-root) where paths begin elsewhere"
                raise MediaError(why) from error
        return self._known[path]

    def path_of(self, text: str, key: str) -> Path:
        """Where a path of a row leads; ``RowError`` where it leaves the folder or is none."""
        text = text.removeprefix("file://")
        if "://" in text:
            raise RowError(key, f"{text[:80]!r} is on a network; download it and give its path")
        if not text or "\x00" in text or not is_encodable(text):
            raise RowError(key, f"{text[:80]!r} is not a path")
        path = Path(os.path.normpath(self._root / text))
        if self._from_hub and Path(text).is_absolute() and not any(map(path.is_relative_to, _caches(self._root))):
            raise RowError(
                key, f"{text!r} is a path of another machine; set image_root (--image-root) to its folder here"
            )
        if not Path(text).is_absolute() and not path.is_relative_to(self._root):
            raise RowError(
                key, f"{text!r} leaves the folder {self._root}; set image_root (--image-root) to a folder that holds it"
            )
        return self._existing_path(path, text, key)

    def _existing_path(self, path: Path, text: str, key: str) -> Path:
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


def _caches(root: Path) -> tuple[Path, ...]:
    """Where pictures of a data set from the hub may lie."""
    from huggingface_hub import constants

    datasets = os.environ.get("HF_DATASETS_CACHE")
    return (root, Path(constants.HF_HOME), Path(constants.HF_HUB_CACHE), *([Path(datasets)] if datasets else []))


def _folders_in(root: Path) -> list[Path]:
    """The folders at ``root`` that are not hidden; none where it cannot be listed."""
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]


def _base64(text: str, key: str, what: str = "the text") -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RowError(key, f"{what} is not base64 ({error})") from error


def _data_url(text: str, key: str) -> bytes:
    head, comma, body = text.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise RowError(key, f"a data URL must begin with data:image/...;base64, and not with {head[:40]!r}")
    return _base64(body, key, "the data URL")


def read_targets(value: RowValue, key: str, images: Sequence[ImageRef | None]) -> tuple[Target, ...]:
    """From a list, or text that holds one, of ``[x1, y1, x2, y2]`` or ``{"bbox": [...], "label": ...}``.

    ``image_index`` in an object says which image, counted from 0; without it the first. Of the images, those that are
    None are not shown: their targets are left out, and the others counted without them.
    """
    items = literal(value, key)
    if items is None:
        return ()
    if not isinstance(items, list | tuple):
        raise RowError(key, f"must be a list of boxes, not {kind_of(items)}")
    if len(items) == 4 and all(as_number(item) is not None for item in items):
        items = [items]
    targets = (_target(item, key, images) for item in items)
    return tuple(target for target in targets if target is not None)


def _target(item: RowValue, key: str, images: Sequence[ImageRef | None]) -> Target | None:
    fields: Row = item if isinstance(item, dict) else {"bbox": item}
    corners = next((fields[name] for name in BOX_KEYS if name in fields), None)
    given = [fields[name] for name in LABEL_KEYS if fields.get(name) is not None]
    # A label may be a category's number beside the name in words.
    label = next((one for one in given if isinstance(one, str)), given[0] if given else "")
    index = fields.get("image_index", 0)
    if not isinstance(label, str):
        raise RowError(key, f"a label must be text, not {kind_of(label)}")
    if not is_encodable(label):
        raise RowError(key, "a label holds half a surrogate pair, which is no text")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(images):
        raise RowError(key, f"image_index {short(index)} names none of the {len(images)} images")
    image = images[index]
    if image is None:
        return None
    box = _box(corners, key, image)
    place = sum(before is not None for before in images[:index])
    return Target(label=label, box=box, point=box.center, image_index=place)


def _box(corners: RowValue, key: str, image: ImageRef) -> Box:
    numbers = [as_number(corner) for corner in listed(corners, key)]
    known = [number for number in numbers if number is not None]
    if len(numbers) != 4 or len(known) != 4:
        raise RowError(key, f"a box must be four finite numbers x1, y1, x2, y2, not {short(corners)}")
    return inside(Box(*known), image, key)


def inside(box: Box, image: ImageRef, key: str) -> Box:
    """The box cut off at the image's edge; ``RowError`` when it is no box, or reaches further than rounding does."""
    sides = list(box.as_tuple())
    if not box.is_ordered:
        raise RowError(key, f"the box {sides} is empty or inverted; give x1 < x2 and y1 < y2")
    clipped = box.clipped(image.width, image.height)
    reach = max(abs(a - b) for a, b in zip(box.as_tuple(), clipped.as_tuple()))
    if reach > EDGE_SLACK_PX or not clipped.is_ordered:
        raise RowError(key, f"the box {sides} lies outside the image of {image.width} x {image.height} px")
    return clipped
