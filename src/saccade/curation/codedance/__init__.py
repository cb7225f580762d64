"""CodeDance's data: solutions in code that really runs, checked by a second model.

Start in ``pipeline.py``; ``run.py`` puts it together for the command line.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.codedance.pipeline import Curation, Roles
    from saccade.curation.codedance.run import CodeDanceRequest, curate_codedance
    from saccade.curation.codedance.settings import CurationSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "CodeDanceRequest",
    "Curation",
    "CurationSettings",
    "Roles",
    "curate_codedance",
]
