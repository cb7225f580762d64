"""Files of pictures opened: header read within limits, nothing decoded, and what decoding will take."""

import io
import re
import struct
from collections.abc import Mapping

import numpy as np
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

_HEADER_READS = 8192
"""Pieces in which Pillow may read what stands before the pixels: its loops over them are in Python."""
_DATA_READS = 1 << 18
_RLE_READS = 1 << 23
"""Of a BMP, whose runs are read one by one."""
_MOST_OF_A_KIND = 64
_COSTLY: Mapping[type[ImageFile], tuple[bytes, ...]] = {
    # Of which each is inflated; copied with all before it; read piece by piece.
    PngImageFile: (b"iCCP",),
    JpegImageFile: (b"Exif\0\0", b"Photoshop 3.0\0"),
}
"""What a file has once or a few times, by its name in the file, and costs far more than its bytes."""
_MOST_SCANS = 100
"""Each scan of a JPEG may be a few bytes and goes over all pixels. Progressive ones have ten."""
_MOST_TAG_VALUES = 1 << 17
"""Numbers in one tag of a TIFF: offsets of strips, of which there are no more than rows."""
_PRIVATE_TAGS = 0x8000
"""From here on tags are programs' own, which are not looked at."""
_KINDS_OF_BYTES = (1, 2, 7)
"""Of a TIFF's tags; the others are numbers, of two bytes or more."""

_MARKER = re.compile(rb"\xff[\x02-\xcf\xd9-\xfe]")
"""Of a JPEG, other than those that stand inside of its pixels."""
_START_OF_SCAN, _END = 0xDA, 0xD9

_STEP = 1 << 20


class UnknownFormatError(Exception):
    """Bytes that begin like no picture that is read here."""


class _CountedFile(io.BytesIO):
    """A file in memory; ``OSError`` when it is read in more pieces than a picture needs."""

    reads_left = _HEADER_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads_left -= 1
        if self.reads_left < 0:
            raise OSError("it has more parts than a picture needs; save it again without metadata")
        return super().read(size)


class _StillWebP(WebPImageFile):
    """Gives up the decoder, with its two canvases, before the pixels are copied: one frame is all that is read."""

    def _get_next(self) -> tuple[bytes, int, int]:
        frame = super()._get_next()
        self._decoder = None
        return frame


# Opened by these classes and never by Image.open: it warns about large images before their size can be looked
# at, warnings cannot be silenced per thread, and it would try every format that Pillow knows.
_FORMATS: tuple[tuple[bytes, type[ImageFile]], ...] = (
    (b"\x89PNG\r\n\x1a\n", PngImageFile),
    (b"\xff\xd8\xff", JpegImageFile),
    (b"GIF87a", GifImageFile),
    (b"GIF89a", GifImageFile),
    (b"RIFF", _StillWebP),
    (b"BM", BmpImageFile),
    (b"II*\x00", TiffImageFile),
    (b"MM\x00*", TiffImageFile),
    (b"P5", PpmImageFile),
    (b"P6", PpmImageFile),
)


def opened_picture(raw: bytes) -> ImageFile:
    """The file with its header read; raises ``UnknownFormatError`` or what Pillow raises on damaged files."""
    for signature, image_file in _FORMATS:
        if raw.startswith(signature) and (signature != b"RIFF" or raw[8:12] == b"WEBP"):
            return _open_counted(raw, image_file)
    raise UnknownFormatError


def _open_counted(raw: bytes, image_file: type[ImageFile]) -> ImageFile:
    for name in _COSTLY.get(image_file, ()):
        if raw.count(name) > _MOST_OF_A_KIND:
            raise ValueError(f"it has {name.rstrip(bytes(1)).decode()} more than {_MOST_OF_A_KIND} times")
    if image_file is TiffImageFile:
        _check_tags(raw)
    file = _CountedFile(raw)
    opened = image_file(file)
    file.reads_left = _RLE_READS if image_file is BmpImageFile else _DATA_READS
    return opened


def _check_tags(raw: bytes) -> None:
    order = "<" if raw.startswith(b"II") else ">"
    (start,) = struct.unpack_from(f"{order}I", raw, 4)
    (count,) = struct.unpack_from(f"{order}H", raw, start)
    tag = struct.Struct(f"{order}HHII")
    for at in range(start + 2, min(start + 2 + count * tag.size, len(raw) - tag.size + 1), tag.size):
        name, kind, values, _ = tag.unpack_from(raw, at)
        is_read = name < _PRIVATE_TAGS and kind not in _KINDS_OF_BYTES and 2 * values <= len(raw)
        if is_read and values > _MOST_TAG_VALUES:
            raise ValueError(f"its tag {name} has {values} values, more than {_MOST_TAG_VALUES}")


def decoding_bytes(opened: ImageFile, raw: bytes) -> int:
    """The most memory that decoding and converting a picture takes; ``ValueError`` for a JPEG that is a bomb."""
    width, height = opened.size
    # The decoded picture and one copy.
    bytes_per_pixel = 8
    if isinstance(opened, JpegImageFile):
        # Of one in several scans, coefficients too.
        bytes_per_pixel = 12 if _scans_of(raw) > 1 else 8
    elif not isinstance(opened, PngImageFile | GifImageFile):
        # Canvases of a WebP, strips of a TIFF as large as the picture, values of a PPM.
        bytes_per_pixel = 12
    return bytes_per_pixel * width * height


def _scans_of(raw: bytes) -> int:
    """Scans of a JPEG: passes over its pixels; ``ValueError`` for more than any has."""
    scans, at = 0, 2
    for _ in range(_HEADER_READS):
        marker = _MARKER.search(raw, at)
        if marker is None or raw[marker.start() + 1] == _END:
            return scans
        scans += raw[marker.start() + 1] == _START_OF_SCAN
        if scans > _MOST_SCANS:
            break
        at = marker.end() + int.from_bytes(raw[marker.end() : marker.end() + 2], "big")
    raise ValueError(f"it has more than {_MOST_SCANS} scans, or {_HEADER_READS} segments")


def with_usual_range(opened: ImageFile, raw: bytes) -> ImageFile:
    """The file itself, or a PGM or PPM with an odd largest value in values from 0 to 255, or to 65535.

    Pillow scales them in the same way, value by value in Python. ``ValueError`` when values are missing.
    """
    codec, _, offset, args = opened.tile[0] if opened.tile else ("", None, 0, None)
    if codec != "ppm" or not isinstance(args, tuple):
        return opened
    largest, top = args[-1], 65535 if opened.mode == "I" else 255
    kind = np.dtype("u1" if largest < 256 else ">u2")
    values = np.frombuffer(raw, kind, opened.width * opened.height * len(opened.getbands()), offset)
    scaled = np.minimum(np.rint(np.arange(256**kind.itemsize) / largest * top), top).astype(
        "u1" if top < 256 else ">u2"
    )
    header = b"%s %d %d %d\n" % (raw[:2], *opened.size, top)
    # Piece by piece, since an index takes eight bytes.
    pieces = (scaled[values[at : at + _STEP]].tobytes() for at in range(0, len(values), _STEP))
    return PpmImageFile(io.BytesIO(b"".join([header, *pieces])))
