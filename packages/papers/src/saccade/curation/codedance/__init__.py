"""CodeDance's data: solutions in code that really runs, checked by a second model.

Start in ``pipeline.py``; ``run.py`` puts it together for the command line.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.codedance.pipeline import Curation as Curation
    from saccade.curation.codedance.pipeline import Roles as Roles
    from saccade.curation.codedance.run import CodeDanceRequest as CodeDanceRequest
    from saccade.curation.codedance.run import curate_codedance as curate_codedance
    from saccade.curation.codedance.settings import CurationSettings as CurationSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)
