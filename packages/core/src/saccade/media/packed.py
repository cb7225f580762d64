"""Pictures packed for another process of ours: RGB bytes by Zstandard, which costs a fraction of what PNG costs."""

import struct
from collections.abc import Iterable, Mapping

import pyarrow as pa
from PIL import Image

from saccade.media.decode import DEFAULT_LIMITS, MediaError
from saccade.media.store import MediaStore

_SIZE = struct.Struct("<II")
_CODEC = "zstd"
_CHANNELS = 3


def packed_pictures(media: MediaStore, hashes: Iterable[str]) -> dict[str, bytes]:
    """Pictures of the store by their hash, in the hashes' order."""
    return {name: packed(media.get(name)) for name in sorted(hashes)}


def add_packed(media: MediaStore, pictures: Mapping[str, bytes]) -> None:
    """Adds the pictures that the store lacks; ``MediaError`` for bytes that are not what their name says."""
    for name, raw in pictures.items():
        if name not in media and (found := media.add(unpacked(raw, f"image {name}")).hash) != name:
            raise MediaError(f"image {name}: another process sent the picture {found} under this name")


def packed(image: Image.Image) -> bytes:
    """Width and height, little-endian, and the compressed bytes of an RGB image."""
    content: bytes = pa.compress(image.tobytes(), codec=_CODEC, asbytes=True)
    return _SIZE.pack(image.width, image.height) + content


def unpacked(raw: bytes, where: str) -> Image.Image:
    """The picture, equal to the byte; ``MediaError`` names ``where`` for bytes that ``packed`` did not make."""
    try:
        width, height = _SIZE.unpack_from(raw)
        if not 0 < width * height <= DEFAULT_LIMITS.max_pixels:
            raise ValueError(f"{width} x {height} pixels")
        size = width * height * _CHANNELS
        rgb = pa.decompress(memoryview(raw)[_SIZE.size :], decompressed_size=size, codec=_CODEC, asbytes=True)
        return Image.frombytes("RGB", (width, height), rgb)
    except (struct.error, ValueError, OSError) as error:
        raise MediaError(f"{where}: these bytes are no packed picture ({error})") from error
