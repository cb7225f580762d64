"""Untrusted image bytes to plain RGB, within limits that are checked before any pixel is decoded."""

import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from PIL.ImageFile import ImageFile
from PIL.TiffImagePlugin import TiffImageFile

from saccade.errors import UserError
from saccade.media.budget import DECODING
from saccade.media.conversion import GreyRangeError, rgb_of
from saccade.media.headers import UnknownFormatError, decoding_bytes, opened_picture, with_usual_range
from saccade.media.resize import MAX_ASPECT_RATIO
from saccade.plain_files import open_plain

_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""All that Pillow is known to raise on damaged files."""

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

_ORIENTATION_TAG = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation to the transposition that makes the image upright."""

_quiet = threading.Lock()


class MediaError(UserError):
    """An image that cannot be used; the message names where it came from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageLimits:
    """Limits of an image, checked before decoding."""

    max_bytes: int = 64 << 20
    max_pixels: int = 64_000_000
    """Width times height; 64 megapixels take 256 MB as Pillow's RGB."""
    max_aspect_ratio: float = MAX_ASPECT_RATIO
    """Longer side over shorter side."""


DEFAULT_LIMITS = ImageLimits()


def decode_image(raw: bytes, where: str, limits: ImageLimits = DEFAULT_LIMITS) -> Image.Image:
    """The picture in these bytes as upright RGB: first frame, turned by EXIF, transparency on white, 8 bit.

    PNG, JPEG, GIF, WebP, BMP, TIFF, PGM and PPM. Colour profiles are not applied. Raises ``MediaError``,
    which begins with ``where``, for anything that is empty, too large, damaged, cut off or of another format.
    """
    if not raw:
        raise MediaError(f"{where}: the image is empty (0 bytes)")
    if len(raw) > limits.max_bytes:
        raise MediaError(f"{where}: the image file has {len(raw)} bytes, more than {limits.max_bytes}; make it smaller")
    opened = _open_image(raw, where)
    _check_size(opened.size, where, limits)
    with DECODING.share(_memory_of(opened, raw, where)):
        return _decoded(opened, raw, where, limits)


def _decoded(opened: ImageFile, raw: bytes, where: str, limits: ImageLimits) -> Image.Image:
    try:
        # TIFF reads tags, and so may warn, while it decodes; the other formats decode in parallel.
        if isinstance(opened, TiffImageFile):
            with _warnings_silenced():
                opened.load()
        else:
            opened = with_usual_range(opened, raw)
            opened.load()
        orientation = _orientation(opened)
    except _BROKEN as error:
        raise MediaError(f"{where}: the image is damaged or cut off ({error})") from error
    _check_size(opened.size, where, limits)
    rgb = to_rgb(opened, where, is_own=True)
    # Its memory is free before another copy is made.
    opened.close()
    return rgb.transpose(_TURNS[orientation]) if orientation in _TURNS else rgb


def is_lfs_pointer(path: Path) -> bool:
    """Whether the file only names a file that Git LFS keeps elsewhere; False where it cannot be read."""
    try:
        with open_plain(path) as file:
            return file.read(len(_LFS_POINTER)) == _LFS_POINTER
    except OSError:
        return False


def to_rgb(image: Image.Image, where: str, *, is_own: bool = False) -> Image.Image:
    """An RGB image without metadata; transparency is laid on white, 16-bit and float greys become 8 bit.

    A 32-bit integer image must hold 16-bit values (0 to 65535) and a float image values from 0 to 1. One that
    ``is_own`` is used up, and the result may be in its memory; else the result is a copy.
    """
    mode = image.mode
    try:
        rgb = rgb_of(image, is_own=is_own)
    except GreyRangeError as error:
        raise MediaError(
            f"{where}: grey values outside of 0 to {error} have no meaning as a picture; scale them and save"
            " them with 8 bit"
        ) from None
    except _BROKEN as error:
        raise MediaError(f"{where}: an image of mode {mode!r} cannot be converted to RGB ({error})") from error
    rgb.info = {}
    return rgb


def _open_image(raw: bytes, where: str) -> ImageFile:
    """Header read, nothing decoded."""
    try:
        with _warnings_silenced():
            return opened_picture(raw)
    except UnknownFormatError:
        if raw.startswith(_LFS_POINTER):
            raise MediaError(
                f"{where}: a Git LFS pointer and not the image itself; run git lfs pull in its folder"
            ) from None
        raise MediaError(
            f"{where}: not an image that can be read (it begins with {raw[:8]!r}); use PNG, JPEG, WebP, GIF, BMP or"
            " TIFF"
        ) from None
    except _BROKEN as error:
        raise MediaError(f"{where}: the image's header is damaged ({error})") from error


def _memory_of(opened: ImageFile, raw: bytes, where: str) -> int:
    try:
        return decoding_bytes(opened, raw)
    except ValueError as error:
        raise MediaError(f"{where}: the image is damaged ({error})") from error


def _check_size(size: tuple[int, int], where: str, limits: ImageLimits) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise MediaError(f"{where}: an image of {width} x {height} px holds nothing")
    if width * height > limits.max_pixels:
        raise MediaError(
            f"{where}: an image of {width} x {height} px has more than {limits.max_pixels} pixels; make it smaller"
        )
    if max(size) > limits.max_aspect_ratio * min(size):
        raise MediaError(
            f"{where}: an image of {width} x {height} px is more than {limits.max_aspect_ratio:g} times"
            " longer than wide; cut it into pieces"
        )


def _orientation(image: ImageFile) -> int:
    """The EXIF orientation; 1 (upright) when there is none or it cannot be read."""
    try:
        with _warnings_silenced():
            value = image.getexif().get(_ORIENTATION_TAG, 1)
    except _BROKEN:
        return 1
    return value if isinstance(value, int) else 1


@contextmanager
def _warnings_silenced() -> Iterator[None]:
    """Pillow warns about odd metadata. One thread at a time: warning filters belong to the process."""
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
