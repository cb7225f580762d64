"""TensorBoard's files of a run, one folder for each stage; what goes wrong with them costs no run.

TensorBoard writes in threads of its own, which raise what goes wrong, and raise it again at a later call.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.atomic import disk_error
from saccade.errors import MachineError
from saccade.runs.position import Position

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

logger = logging.getLogger(__name__)


class Boards:
    """Writes numbers into ``directory``; without one it does nothing. A run that goes on after ``start`` purges."""

    def __init__(self, directory: Path | None, start: Position | None) -> None:
        self._directory = directory
        self._start = start
        self._open: dict[str, SummaryWriter] = {}

    def write(self, position: Position, values: Mapping[str, float]) -> None:
        """Numbers of a step. Raises MachineError on a full disk; after another failure nothing more is written."""
        if self._directory is None:
            return
        with self._errors():
            board = self._board(position.stage, self._directory)
            for key, value in values.items():
                board.add_scalar(key, value, position.step)

    def flush(self) -> None:
        with self._errors():
            for board in self._open.values():
                board.flush()

    def close(self) -> None:
        """Closing twice is allowed."""
        with self._errors():
            for board in self._open.values():
                board.close()
        self._open.clear()

    def _board(self, stage: str, directory: Path) -> "SummaryWriter":
        if stage not in self._open:
            from torch.utils.tensorboard import SummaryWriter

            _let_threads_fail_quietly()
            is_continued = self._start is not None and self._start.stage == stage
            purge_step = self._start.step + 1 if self._start is not None and is_continued else None
            self._open[stage] = SummaryWriter(directory / stage, purge_step=purge_step)
        return self._open[stage]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            told = disk_error(error, self._directory) if isinstance(error, OSError) else None
            if isinstance(told, MachineError):
                # A full disk stops the run while its files are whole.
                raise told from error
            # Where the whole run is gone, that is said instead.
            if self._directory is not None and self._directory.parent.is_dir():
                logger.warning("TensorBoard's files are written no more: %s: %s", type(error).__name__, error)
            self._directory = None
            self._open.clear()


@cache
def _let_threads_fail_quietly() -> None:
    """Their errors are raised again where they are handled; Python would print them as well."""
    before = threading.excepthook

    def report(failed: threading.ExceptHookArgs) -> None:
        if not type(failed.thread).__module__.startswith("tensorboard."):
            before(failed)

    threading.excepthook = report
