"""Pictures of any mode as RGB, strip by strip: beside a picture and its result only strips take memory."""

from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

_STRIP_PIXELS = 1 << 18


class GreyRangeError(ValueError):
    """Deep grey values outside of what they may be; the message is the largest one allowed."""


def rgb_of(image: Image.Image, *, is_own: bool) -> Image.Image:
    """The picture as RGB: transparency on white, 16-bit and float greys with 8 bit. ``GreyRangeError``.

    A new picture, unless it ``is_own``: then it is used up, and its memory may be the result's.
    """
    if image.has_transparency_data:
        if image.mode not in ("1", "L", "LA"):
            return _in_strips(image, lambda strip: _on_white(strip).convert("RGB"), "RGB")
        grey = _in_strips(image, lambda strip: _on_white(strip).getchannel(0), "L")
    elif image.mode == "F" or image.mode.startswith("I"):
        grey = _in_strips(image, _with_8_bit, "L")
    else:
        # Pillow has no other way to a plain picture of the same memory.
        return image._new(image.im) if is_own and image.mode == "RGB" else image.convert("RGB")
    if is_own:
        image.close()
    return grey.convert("RGB")


def _on_white(strip: Image.Image) -> Image.Image:
    return Image.alpha_composite(Image.new("RGBA", strip.size, (255, 255, 255, 255)), strip.convert("RGBA"))


def _with_8_bit(strip: Image.Image) -> Image.Image:
    values = np.asarray(strip).astype(np.float64)
    top = 1.0 if strip.mode == "F" else 65535.0
    # Written so that NaN fails too.
    if not (np.all(values >= 0.0) and np.all(values <= top)):
        raise GreyRangeError(f"{top:g}")
    return Image.fromarray(np.rint(values * (255.0 / top)).astype(np.uint8))


def strips_of(image: Image.Image) -> Iterator[Image.Image]:
    """The picture in strips of its rows, from the top; a small one is itself the only one."""
    width, height = image.size
    rows = _STRIP_PIXELS // max(1, width) or 1
    if rows >= height:
        yield image
        return
    for top in range(0, height, rows):
        yield image.crop((0, top, width, min(top + rows, height)))


def _in_strips(image: Image.Image, converted: Callable[[Image.Image], Image.Image], mode: str) -> Image.Image:
    """A picture of this mode, made of each strip of the given one."""
    result, top = Image.new(mode, image.size), 0
    for strip in strips_of(image):
        if strip is image:
            return converted(image)
        result.paste(converted(strip), (0, top))
        top += strip.height
    return result
