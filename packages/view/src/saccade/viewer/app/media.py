"""Pictures of runs by content hash: the file as it is, a smaller one, or as a policy sees it, and nothing but PNG."""

import io
import re
from functools import lru_cache
from pathlib import Path

from PIL import Image

from saccade.errors import UserError
from saccade.media.decode import MediaError, decode_image
from saccade.plain_files import plain_bytes
from saccade.viewer.store.run import GoneError, Run

WIDTHS = (64, 128, 256, 512, 1024)
_HASH = re.compile(r"[0-9a-f]{64}")
_PNG = b"\x89PNG\r\n\x1a\n"
_MAX_BYTES = 64 << 20
_MAX_VIEW_PX = 1 << 24
_SMALL_KEPT = 512


def media_file(run: Run, image_hash: str) -> Path | None:
    """The file of a picture; None where it is not there, is too large, or a link leads out of its folder."""
    if not _HASH.fullmatch(image_hash):
        return None
    for folder in (run.paths.media, run.pictures):
        path = folder / f"{image_hash}.png"
        try:
            is_inside = path.resolve(strict=True).is_relative_to(folder.resolve())
            if is_inside and path.is_file() and path.stat().st_size <= _MAX_BYTES:
                return path
        except (OSError, RuntimeError):
            continue
    return None


def png_of(run: Run, image_hash: str, width: int | None) -> bytes:
    """A picture, at most ``width`` pixels wide and high where that is given. GoneError where it cannot be shown."""
    path = media_file(run, image_hash)
    if path is None:
        raise GoneError(f"the picture {image_hash[:16]} is not in this run")
    try:
        if width is not None:
            stamp = path.stat()
            return _small(path, width, stamp.st_size, stamp.st_mtime_ns)
        content = plain_bytes(path)
    except (OSError, MediaError) as error:
        raise GoneError(f"the picture {image_hash[:16]} cannot be read: {error}") from error
    if not content.startswith(_PNG):
        raise GoneError(f"the picture {image_hash[:16]} is no PNG")
    return content


def seen_png(run: Run, image_hash: str) -> bytes:
    """A picture at the size at which the run's policy sees it. GoneError where it cannot be shown."""
    path, policy = media_file(run, image_hash), run.policy
    if path is None or policy is None or policy.view is None:
        raise GoneError(f"the picture {image_hash[:16]} is not in this run, or no checkpoint says how it was seen")
    try:
        image = decode_image(plain_bytes(path), path.name)
        width, height = policy.view.view_size(*image.size)
    except (OSError, MediaError, UserError, ArithmeticError) as error:
        raise GoneError(f"the picture {image_hash[:16]} cannot be shown: {error}") from error
    if width * height > _MAX_VIEW_PX:
        raise GoneError(f"the picture {image_hash[:16]} was seen at {width} x {height} px, too large to show")
    return _as_png(image.resize((width, height), policy.resampling))


@lru_cache(maxsize=_SMALL_KEPT)
def _small(path: Path, width: int, _size: int, _changed: int) -> bytes:
    image = decode_image(plain_bytes(path), path.name)
    image.thumbnail((width, width), Image.Resampling.LANCZOS)
    return _as_png(image)


def _as_png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()
