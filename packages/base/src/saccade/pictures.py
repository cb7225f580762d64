"""Operations on decoded pictures that readers, tools and evaluations share."""

from PIL import Image


def bounded(image: Image.Image, side_px: int) -> tuple[Image.Image, str]:
    """The image, and a note when it had to be shrunk because its longer side is over the bound."""
    scale = side_px / max(image.size)
    if scale >= 1:
        return image, ""
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.BICUBIC), f", shrunk to {size[0]} x {size[1]} px"
