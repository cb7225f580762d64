"""Pictures: a store that holds each image once by its content, safe decoding, and the resize rule of each model family.

Start in ``store.py``. ``decode.py`` checks untrusted bytes before a pixel is decoded; ``resize.py``
says at which size a model sees an image.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.media.decode import ImageLimits, MediaError, decode_image
    from saccade.media.encode import png_bytes
    from saccade.media.resize import ResizeRule, TileRule, ViewRule
    from saccade.media.store import MediaStore, image_hash
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "ImageLimits",
    "MediaError",
    "MediaStore",
    "ResizeRule",
    "TileRule",
    "ViewRule",
    "decode_image",
    "image_hash",
    "png_bytes",
]
