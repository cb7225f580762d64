"""Text in pictures: a protocol of readers, and three engines behind it.

``lines.py`` is the protocol; ``rapid.py`` works offline, ``optional.py`` has engines that you may have installed.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.text.lines import TextLine as TextLine
    from saccade.readers.text.lines import TextReader as TextReader
    from saccade.readers.text.optional import EasyReader as EasyReader
    from saccade.readers.text.optional import TesseractReader as TesseractReader
    from saccade.readers.text.rapid import RapidReader as RapidReader
else:
    __getattr__, __dir__ = names_on_use(__name__)
