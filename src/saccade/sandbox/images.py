"""Images on their way into a session: names checked, pictures encoded."""

import io
import re

from PIL import Image

from saccade.errors import UserError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}


def encoded(name: str, image: Image.Image | bytes) -> bytes:
    """The content of the file that a session sees under a name; UserError for names and types that cannot be."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"image name {name!r} is no plain file name; use letters, digits, dots, dashes, at most 100 of them"
        )
    if isinstance(image, bytes):
        return image
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    if suffix not in _FORMATS:
        raise UserError(f"image name {name!r} must end with one of {', '.join(_FORMATS)}")
    if not isinstance(image, Image.Image):
        raise UserError(f"image {name!r} is a {type(image).__name__}; give a PIL image or the bytes of a file")
    picture = image if image.mode in ("RGB", "L") else image.convert("RGB")
    buffer = io.BytesIO()
    if suffix == ".png":
        # Three times as fast as the default, and not much larger.
        picture.save(buffer, "PNG", compress_level=1)
    else:
        picture.save(buffer, _FORMATS[suffix])
    return buffer.getvalue()
