"""Worker processes in which a tool server runs its tools.

Start in ``crew.py``, what a service asks of a group's workers, then ``pool.py``, the workers of one group on this
machine, and ``worker.py``, the process itself.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.services.workers.calls import CallBook
    from saccade.services.workers.crew import QueueFullError, ToolWorker, WorkerCrew
    from saccade.services.workers.pool import Pool
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "CallBook",
    "Pool",
    "QueueFullError",
    "ToolWorker",
    "WorkerCrew",
]
