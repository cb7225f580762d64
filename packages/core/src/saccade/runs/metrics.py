"""Metrics of a run: one JSON object per line in ``metrics.jsonl``, and the same numbers in TensorBoard.

``{"stage": "rl", "step": 12, "reward/mean": 0.4, "time/step_s": 1.3, "time/wall_s": 80.2}``. Whatever depends on
the clock stands under a key that begins with ``time/``; everything else is the same for the same seed.
"""

import errno
import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from saccade.atomic import check_in_place, disk_error, disk_errors
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import MachineError, UserError
from saccade.metric_names import TIME_PREFIX, WALL_S
from saccade.plain_files import open_plain, plain_lines
from saccade.runs.position import Position

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

logger = logging.getLogger(__name__)

_RESERVED = ("stage", "step", WALL_S)


class MetricsWriter:
    """Appends records; each is on its way to the disk when ``write`` returns, so a killed process loses none."""

    def __init__(self, file: BinaryIO, path: Path, tensorboard: Path | None, start: Position | None) -> None:
        """``open`` is the way in."""
        self._file = file
        self._path = path
        self._boards = Boards(tensorboard, start)
        self._follow: Callable[[Position, Mapping[str, float]], None] | None = None
        self._started_s = time.monotonic()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        stages: Sequence[str],
        keep_until: Position | None = None,
        tensorboard: Path | None = None,
    ) -> "MetricsWriter":
        """Open for appending after cutting off everything later than ``keep_until``; None keeps nothing.

        A last line that a kill tore is cut too. What a step writes must be written before the checkpoint of that
        step. ``tensorboard`` is the directory for event files, one subdirectory per stage, because TensorBoard's
        purge of later steps knows no stages. Raises UserError for a broken line before the cut.
        """
        with disk_errors(path):
            path.touch()
            kept_bytes, wall_s = _kept_length(path, keep_until, stages)
            os.truncate(path, kept_bytes)
            if tensorboard is not None:
                _drop_boards(tensorboard, keep_until, stages)
            file = path.open("ab", buffering=0)
        writer = cls(file, path, tensorboard, keep_until)
        writer._started_s -= wall_s
        return writer

    @property
    def wall_s(self) -> float:
        """Seconds that the run has worked so far, earlier sessions included."""
        return time.monotonic() - self._started_s

    def follow(self, each: Callable[[Position, Mapping[str, float]], None]) -> None:
        """Call this with every record from now on, as ``read_metrics`` would give it."""
        self._follow = each

    def write(self, position: Position, values: Mapping[str, float]) -> None:
        """Append one record. Raises MachineError when the disk does not take it."""
        if taken := [key for key in values if key in _RESERVED]:
            raise ValueError(f"metrics {', '.join(taken)} are written by the writer itself; rename yours")
        record = {"stage": position.stage, "step": position.step, **values, WALL_S: round(self.wall_s, 3)}
        line = json.dumps(record).encode("ascii") + b"\n"
        check_in_place(self._file.fileno(), self._path)
        with disk_errors(self._path):
            # One write call, so that a kill can tear the last line only.
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "the last record was written in part only", str(self._path))
        self._boards.write(position, values)
        if self._follow is not None:
            self._follow(position, {**values, WALL_S: round(self.wall_s, 3)})

    def sync(self) -> None:
        """Wait until the disk has everything; call it before a checkpoint is written."""
        check_in_place(self._file.fileno(), self._path)
        with disk_errors(self._path):
            os.fsync(self._file.fileno())
        self._boards.flush()

    def close(self) -> None:
        """Closing twice is allowed."""
        self._boards.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_metrics(path: Path) -> Iterator[tuple[Position, dict[str, float]]]:
    """The records of a file in order. A torn last line is left out; any other broken line is a UserError."""
    for position, values, _ in _records(path):
        yield position, values


def without_times(path: Path) -> list[tuple[Position, dict[str, float]]]:
    """The records without their ``time/`` keys: equal for equal seeds, killed and resumed or not."""
    return [
        (position, {key: value for key, value in values.items() if not key.startswith(TIME_PREFIX)})
        for position, values in read_metrics(path)
    ]


def _kept_length(path: Path, keep_until: Position | None, stages: Sequence[str]) -> tuple[int, float]:
    """Bytes of the file to keep, and the work time at their end."""
    kept_bytes, wall_s = 0, 0.0
    if keep_until is None:
        return kept_bytes, wall_s
    for position, values, end in _records(path):
        if position.is_after(keep_until, stages):
            break
        kept_bytes, wall_s = end, values.get(WALL_S, wall_s)
    return kept_bytes, wall_s


def _records(path: Path) -> Iterator[tuple[Position, dict[str, float], int]]:
    """Each record with its position and the offset of its end in bytes."""
    try:
        file = open_plain(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    end = 0
    with file:
        for number, line in enumerate(plain_lines(file), start=1):
            end += len(line)
            if not line.endswith(b"\n"):
                return
            try:
                fields = Fields(json.loads(line))
                position = Position(stage=fields.text("stage"), step=fields.whole("step"))
                values = {key: fields.number(key) for key in fields.values if key not in ("stage", "step")}
            except (ValueError, RecursionError, BrokenRecordError) as error:
                raise UserError(
                    f"{path}:{number}: not a metrics record: {error}; delete this line to go on without it"
                ) from None
            yield position, values, end


def _drop_boards(tensorboard: Path, keep_until: Position | None, stages: Sequence[str]) -> None:
    """Delete the event files of stages after the checkpoint's; inside its stage TensorBoard purges by step."""
    for directory in tensorboard.iterdir() if tensorboard.is_dir() else ():
        first = Position(stage=directory.name, step=0)
        last = Position(stage=keep_until.stage, step=0) if keep_until else None
        if last is None or directory.name not in stages or first.is_after(last, stages):
            shutil.rmtree(directory)


class Boards:
    """Writes TensorBoard's files into ``directory``, a folder for each stage; without one it does nothing.

    A run that goes on after ``start`` purges. What goes wrong here costs no run: TensorBoard writes in threads of its
    own, which raise what goes wrong, and raise it again at a later call.
    """

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
