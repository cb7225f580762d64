"""Untrusted image bytes to plain RGB, within limits that are checked before any pixel is decoded."""

import io
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from saccade.errors import UserError
from saccade.media.resize import MAX_ASPECT_RATIO

# Opened by these classes and never by Image.open: it warns about large images before their size can be looked
# at, warnings cannot be silenced per thread, and it would try every format that Pillow knows.
_FORMATS: tuple[tuple[bytes, type[ImageFile]], ...] = (
    (b"\x89PNG\r\n\x1a\n", PngImageFile),
    (b"\xff\xd8\xff", JpegImageFile),
    (b"GIF87a", GifImageFile),
    (b"GIF89a", GifImageFile),
    (b"RIFF", WebPImageFile),
    (b"BM", BmpImageFile),
    (b"II*\x00", TiffImageFile),
    (b"MM\x00*", TiffImageFile),
    (b"P5", PpmImageFile),
    (b"P6", PpmImageFile),
)

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
    """Width times height; 64 megapixels take 192 MB as RGB."""
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
    opened = _open(raw, where)
    _check_size(opened.size, where, limits)
    try:
        # TIFF reads tags, and so may warn, while it decodes; the other formats decode in parallel.
        if isinstance(opened, TiffImageFile):
            with _warnings_silenced():
                opened.load()
        else:
            opened.load()
        orientation = _orientation(opened)
    except _BROKEN as error:
        raise MediaError(f"{where}: the image is damaged or cut off ({error})") from error
    _check_size(opened.size, where, limits)
    rgb = to_rgb(opened, where)
    return rgb.transpose(_TURNS[orientation]) if orientation in _TURNS else rgb


def is_lfs_pointer(path: Path) -> bool:
    """Whether the file only names a file that Git LFS keeps elsewhere; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_LFS_POINTER)) == _LFS_POINTER
    except OSError:
        return False


def to_rgb(image: Image.Image, where: str) -> Image.Image:
    """A new RGB image without metadata; transparency is laid on white, 16-bit and float greys become 8 bit.

    A 32-bit integer image must hold 16-bit values (0 to 65535) and a float image values from 0 to 1.
    """
    try:
        if image.has_transparency_data:
            layer = image.convert("RGBA")
            white = Image.new("RGBA", image.size, (255, 255, 255, 255))
            rgb = Image.alpha_composite(white, layer).convert("RGB")
        elif image.mode == "F" or image.mode.startswith("I"):
            rgb = _deep_grey_to_rgb(image, where)
        else:
            rgb = image.convert("RGB")
    except MediaError:
        raise
    except _BROKEN as error:
        raise MediaError(f"{where}: an image of mode {image.mode!r} cannot be converted to RGB ({error})") from error
    rgb.info = {}
    return rgb


def _deep_grey_to_rgb(image: Image.Image, where: str) -> Image.Image:
    values = np.asarray(image).astype(np.float64)
    top = 1.0 if image.mode == "F" else 65535.0
    # Written so that NaN fails too.
    if not (np.all(values >= 0.0) and np.all(values <= top)):
        raise MediaError(
            f"{where}: grey values outside of 0 to {top:g} have no meaning as a picture; scale them and save"
            " them with 8 bit"
        )
    return Image.fromarray(np.rint(values * (255.0 / top)).astype(np.uint8)).convert("RGB")


def _open(raw: bytes, where: str) -> ImageFile:
    """Header read, nothing decoded."""
    for signature, image_file in _FORMATS:
        if raw.startswith(signature) and (signature != b"RIFF" or raw[8:12] == b"WEBP"):
            try:
                with _warnings_silenced():
                    return image_file(io.BytesIO(raw))
            except _BROKEN as error:
                raise MediaError(f"{where}: the image's header is damaged ({error})") from error
    if raw.startswith(_LFS_POINTER):
        raise MediaError(f"{where}: a Git LFS pointer and not the image itself; run git lfs pull in its folder")
    raise MediaError(
        f"{where}: not an image that can be read (it begins with {raw[:8]!r}); use PNG, JPEG, WebP, GIF, BMP or TIFF"
    )


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
