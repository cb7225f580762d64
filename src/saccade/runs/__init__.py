"""A run on disk: its directory, records of trajectories, metrics, checkpoints and progress.

Start in ``directory.py``, then ``records.py`` (trajectories, one JSON object a line) and ``checkpoints.py``.
``asking.py`` is how a checkpoint says with which protocol, tools and limits it was trained.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.runs.asking import AskingRecord, ToolRecord, Way, read_asking, words_for
    from saccade.runs.checkpoints import Checkpoint, latest_checkpoint
    from saccade.runs.directory import RunDirectory
    from saccade.runs.metrics import read_metrics
    from saccade.runs.position import Position
    from saccade.runs.progress import Progress
    from saccade.runs.reaches import Permission
    from saccade.runs.recorded_tools import Toolmaker
    from saccade.runs.records import read_records, write_records
    from saccade.runs.runinfo import RunInfo, RunPaths, read_info
    from saccade.tools.making import UnknownOriginError
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "AskingRecord",
    "Checkpoint",
    "Permission",
    "Position",
    "Progress",
    "RunDirectory",
    "RunInfo",
    "RunPaths",
    "ToolRecord",
    "Toolmaker",
    "UnknownOriginError",
    "Way",
    "latest_checkpoint",
    "read_asking",
    "read_info",
    "read_metrics",
    "read_records",
    "words_for",
    "write_records",
]
