"""Images at a worker: those that it holds ready, and what one call sees and makes."""

from collections.abc import Callable

from PIL import Image

from saccade.media.decode import decode_image, to_rgb
from saccade.media.store import MediaStore, image_hash, png_bytes
from saccade.types import ImageRef

PLAIN_PIXELS = 128 * 128
"""Smaller pictures are sent uncompressed: packing them takes longer than sending what it saves."""


class JobMedia(MediaStore):
    """What one call sees as its store: the picture that it is about, and the files of those that it makes."""

    def __init__(self, picture: Image.Image | None) -> None:
        super().__init__(cache_bytes=0)
        self._picture = picture
        self.made: dict[str, bytes] = {}

    def add(self, image: Image.Image) -> ImageRef:
        # Encoded once, to be sent; the store's own way would decode it again for that.
        rgb = to_rgb(image, "an image that a tool made")
        key = image_hash(rgb)
        self.made[key] = png_bytes(rgb, compress_level=0 if rgb.width * rgb.height < PLAIN_PIXELS else 1)
        return ImageRef(hash=key, width=rgb.width, height=rgb.height)

    def get(self, image: ImageRef | str) -> Image.Image:
        if self._picture is None:
            raise KeyError("the call is about no image")
        return self._picture


class HeldPictures:
    """Decoded images, the least recently used ones forgotten."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._known: dict[str, Image.Image] = {}
        self._bytes = 0

    def get(self, key: str, fetch: Callable[[str], bytes | None]) -> Image.Image | None:
        picture = self._known.pop(key, None)
        if picture is None:
            raw = fetch(key)
            if raw is None:
                return None
            picture = decode_image(raw, f"image {key}")
            self._bytes += _size(picture)
        self._known[key] = picture
        while self._bytes > self._capacity_bytes and len(self._known) > 1:
            oldest = next(iter(self._known))
            self._bytes -= _size(self._known.pop(oldest))
        return picture


def _size(picture: Image.Image) -> int:
    return 3 * picture.width * picture.height
