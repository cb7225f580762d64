"""A run on disk: its directory, records of trajectories, metrics, checkpoints and progress.

Start in ``directory.py``, then ``records.py`` (trajectories, one JSON object a line) and ``checkpoints.py``.
``asking.py`` is how a checkpoint says with which protocol, tools and limits it was trained.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.runs.asking import AskingRecord as AskingRecord
    from saccade.runs.asking import ToolRecord as ToolRecord
    from saccade.runs.asking import Way as Way
    from saccade.runs.asking import read_asking as read_asking
    from saccade.runs.asking import words_for as words_for
    from saccade.runs.checkpoints import Checkpoint as Checkpoint
    from saccade.runs.checkpoints import latest_checkpoint as latest_checkpoint
    from saccade.runs.directory import RunDirectory as RunDirectory
    from saccade.runs.metrics import read_metrics as read_metrics
    from saccade.runs.position import Position as Position
    from saccade.runs.progress import Progress as Progress
    from saccade.runs.reaches import Permission as Permission
    from saccade.runs.recorded_tools import Toolmaker as Toolmaker
    from saccade.runs.records import read_records as read_records
    from saccade.runs.records import write_records as write_records
    from saccade.runs.runinfo import RunInfo as RunInfo
    from saccade.runs.runinfo import RunPaths as RunPaths
    from saccade.runs.runinfo import read_info as read_info
    from saccade.tools.making import UnknownOriginError as UnknownOriginError
else:
    __getattr__, __dir__ = names_on_use(__name__)
