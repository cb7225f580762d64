"""Pictures as bytes. Needs Pillow alone, since processes of another Python send pictures too."""

import io

from PIL import Image


def png_bytes(image: Image.Image, compress_level: int = 1) -> bytes:
    """The image as PNG, lightly compressed: written often and read seldom."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=compress_level)
    return buffer.getvalue()
