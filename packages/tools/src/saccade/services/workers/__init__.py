"""Worker processes in which a tool server runs its tools.

Start in ``calls.py``, which has the calls and what a service asks of a group's workers; ``pool.py`` has the workers of
one group on this machine, ``worker.py`` is the process itself.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.services.workers.calls import CallBook as CallBook
    from saccade.services.workers.calls import QueueFullError as QueueFullError
    from saccade.services.workers.calls import ToolWorker as ToolWorker
    from saccade.services.workers.calls import WorkerCrew as WorkerCrew
    from saccade.services.workers.pool import Pool as Pool
else:
    __getattr__, __dir__ = names_on_use(__name__)
