"""VISTA-R1's data: trajectories with real tools, played by a chat model; right ones are kept, with thoughts at length.

Start in ``imitation.py``; ``run.py`` puts it together for the command line, ``densifying.py`` has thoughts written anew
at length.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.examples import read_tool_examples as read_tool_examples
    from saccade.curation.vista.imitation import Imitation as Imitation
    from saccade.curation.vista.imitation import VistaImitationSettings as VistaImitationSettings
    from saccade.curation.vista.run import DrawnGym as DrawnGym
    from saccade.curation.vista.run import VistaRequest as VistaRequest
    from saccade.curation.vista.run import curate_vista as curate_vista
else:
    __getattr__, __dir__ = names_on_use(__name__)
