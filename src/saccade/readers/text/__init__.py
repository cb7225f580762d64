"""Text in pictures: a protocol of readers, and three engines behind it.

``lines.py`` is the protocol; ``rapid.py`` works offline, ``optional.py`` has engines that you may have installed.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.text.lines import TextLine, TextReader
    from saccade.readers.text.optional import EasyReader, TesseractReader
    from saccade.readers.text.rapid import RapidReader
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "EasyReader",
    "RapidReader",
    "TesseractReader",
    "TextLine",
    "TextReader",
]
