"""VISTA-R1's data: trajectories with real tools, played by a chat model; right ones are kept, with thoughts at length.

Start in ``imitation.py``; ``run.py`` puts it together for the command line, ``densifying.py`` has thoughts written anew
at length.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.examples import read_tool_examples
    from saccade.curation.vista.imitation import Imitation, VistaImitationSettings
    from saccade.curation.vista.run import DrawnGym, VistaRequest, curate_vista
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "DrawnGym",
    "Imitation",
    "VistaImitationSettings",
    "VistaRequest",
    "curate_vista",
    "read_tool_examples",
]
