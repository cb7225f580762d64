"""Geometry diagrams and the words beside them, read into statements that the solver takes.

Start in ``diagram.py`` (pixels to a ``Diagram``) and ``words.py``; ``formalize.py`` makes one problem of both.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.diagrams.diagram import Diagram as Diagram
    from saccade.readers.diagrams.diagram import read_diagram as read_diagram
    from saccade.readers.diagrams.formalize import Formal as Formal
    from saccade.readers.diagrams.formalize import formalized as formalized
    from saccade.readers.diagrams.words import Words as Words
    from saccade.readers.diagrams.words import read_words as read_words
else:
    __getattr__, __dir__ = names_on_use(__name__)
