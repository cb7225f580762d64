"""Images of a run inside its page: each embedded once, shown with what was asked for drawn over it."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from PIL import Image

from saccade.geometry import Box, Point
from saccade.media.decode import MediaError, decode_image
from saccade.plain_files import plain_bytes
from saccade.types import ImageRef, Json

MAX_EMBEDDED_PX = 768
"""Longer images are embedded smaller."""
MAX_TOTAL_BYTES = 24 << 20
"""Limit of all embedded images together; later ones are left out with a note."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PIXELATED_UP_TO_PX = 384
"""Smaller images are enlarged as squares, so that a reader sees the pixels that the model saw."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlay:
    """A box or point drawn over an image, in its pixels.

    ``kind`` picks the style: ``asked``, ``named``, ``target``, ``heat``.
    """

    kind: str
    shape: Box | Point
    label: str
    mark: str = ""
    """Written into the corner of a box."""
    strength: float | None = None
    """How strongly a box is filled, from 0 to 1; None for an outline alone."""


@dataclass(kw_only=True)
class Album:
    """Collects the images that a page shows; ``definitions`` goes into the page once, figures refer to it."""

    directory: Path
    _encoded: dict[str, str] = field(default_factory=dict)
    _bytes: int = 0

    def figure(self, image: ImageRef, description: str, overlays: Sequence[Overlay] = ()) -> str:
        """An SVG of the image with its overlays; a framed note when the image cannot be shown. Safe markup."""
        width, height = image.width, image.height
        label = escape(description, quote=True)
        problem = self._embed(image)
        is_small = max(width, height) <= _PIXELATED_UP_TO_PX
        kind = "picture pixelated" if is_small else "picture"
        opening = f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        if problem:
            size = round(min(width, height) / 10, 1)
            return (
                f'{opening}<rect class="missing" width="{width}" height="{height}"/><text x="{width / 2}" '
                f'y="{height / 2}" font-size="{size}" text-anchor="middle">{escape(problem)}</text></svg>'
            )
        shapes = "".join(_shape(overlay, width, height) for overlay in overlays)
        return f'{opening}<use href="#image-{_identifier(image)}"/>{shapes}</svg>'

    def data_address(self, image: ImageRef) -> str:
        """The image as a ``data:`` address; nothing where the album has it already, or cannot have it."""
        if image.hash in self._encoded or self._embed(image):
            return ""
        element = self._encoded.pop(image.hash)
        return element[element.index('href="') + len('href="') : element.rindex('"')]

    def definitions(self) -> str:
        """A hidden SVG with every embedded image. Safe markup."""
        images = "".join(self._encoded.values())
        return f'<svg class="album" width="0" height="0" aria-hidden="true"><defs>{images}</defs></svg>'

    def _embed(self, image: ImageRef) -> str:
        """Embed the image unless it is there already; what went wrong, or nothing."""
        if image.hash in self._encoded:
            return ""
        if not image.hash.isalnum():
            return "not an image hash"
        if self._bytes > MAX_TOTAL_BYTES:
            return "left out: the page is full"
        path = self.directory / f"{image.hash}.png"
        try:
            raw = plain_bytes(path)
            # A link in a stranger's run may lead to a file that is nobody's to show.
            if not raw.startswith(_PNG) or not path.resolve().is_relative_to(self.directory.resolve()):
                return "no picture of this run"
            encoded = _small_png(raw, str(path)) if max(image.width, image.height) > MAX_EMBEDDED_PX else raw
        except (OSError, MediaError):
            return "image not on disk"
        self._bytes += len(encoded)
        self._encoded[image.hash] = (
            f'<image id="image-{_identifier(image)}" width="{image.width}" height="{image.height}" '
            f'preserveAspectRatio="none" href="data:image/png;base64,{base64.b64encode(encoded).decode()}"/>'
        )
        return ""


def overlays_of(arguments: Mapping[str, Json]) -> list[Overlay]:
    """Boxes and points among a tool call's arguments: lists of four or two numbers, or lists of such lists."""
    found = []
    for name, value in arguments.items():
        if not isinstance(value, list):
            continue
        for item in [value, *value]:
            if (shape := _shape_of(item)) is not None:
                found.append(Overlay(kind="asked", shape=shape, label=f"asked for: {name}"))
    return found


def _shape_of(value: Json) -> Box | Point | None:
    if not isinstance(value, list) or not all(isinstance(item, int | float) for item in value):
        return None
    numbers = [float(item) for item in value if isinstance(item, int | float) and abs(item) < 1e9]
    if not all(math.isfinite(number) for number in numbers) or len(numbers) != len(value):
        return None
    if len(numbers) == 4:
        return Box(*numbers)
    return Point(*numbers) if len(numbers) == 2 else None


def _shape(overlay: Overlay, width: int, height: int) -> str:
    title = f"<title>{escape(overlay.label)}</title>"
    if isinstance(overlay.shape, Point):
        radius = round(max(width, height) / 60, 2)
        x, y = overlay.shape.x, overlay.shape.y
        return f'<circle class="{overlay.kind}" cx="{x:g}" cy="{y:g}" r="{radius}">{title}</circle>'
    box = overlay.shape.clipped(width, height)
    if not box.is_ordered:
        return ""
    filled = "" if overlay.strength is None else f' fill-opacity="{overlay.strength:.3f}"'
    return (
        f'<rect class="{overlay.kind}"{filled} x="{box.x1:g}" y="{box.y1:g}" width="{box.width:g}" '
        f'height="{box.height:g}">'
        f"{title}</rect>{_mark(overlay, box, max(width, height) / 22)}"
    )


def _mark(overlay: Overlay, box: Box, size: float) -> str:
    if not overlay.mark:
        return ""
    x, y = box.x1 + size / 4, box.y1 + size
    return f'<text class="{overlay.kind}" x="{x:g}" y="{y:g}" font-size="{size:g}">{escape(overlay.mark)}</text>'


def _small_png(raw: bytes, where: str) -> bytes:
    image = decode_image(raw, where)
    image.thumbnail((MAX_EMBEDDED_PX, MAX_EMBEDDED_PX), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def _identifier(image: ImageRef) -> str:
    return image.hash[:24]
