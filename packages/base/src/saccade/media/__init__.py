"""Pictures: a store that holds each image once by its content, safe decoding, and the resize rule of each model family.

Start in ``store.py``. ``decode.py`` checks untrusted bytes before a pixel is decoded; ``resize.py``
says at which size a model sees an image.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.media.decode import ImageLimits as ImageLimits
    from saccade.media.decode import MediaError as MediaError
    from saccade.media.decode import decode_image as decode_image
    from saccade.media.encode import png_bytes as png_bytes
    from saccade.media.resize import ResizeRule as ResizeRule
    from saccade.media.resize import TileRule as TileRule
    from saccade.media.resize import ViewRule as ViewRule
    from saccade.media.store import MediaStore as MediaStore
    from saccade.media.store import image_hash as image_hash
else:
    __getattr__, __dir__ = names_on_use(__name__)
