"""A run on disk: where everything is, who may write it, and how it goes back to a checkpoint."""

import fcntl
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal, Self

from saccade.atomic import TEMPORARY_PREFIX, check_in_place, disk_errors, refuse_link, sync_directory
from saccade.characters import shell_words
from saccade.checksums import CHECKSUMS
from saccade.codec.codecs import plain_json
from saccade.config.settings import Change, changes_between
from saccade.errors import MachineError, UserError
from saccade.plain_files import check_plain_below
from saccade.runs import clocks, line_sums, segments, signals
from saccade.runs.position import Position
from saccade.runs.record_sums import RecordSums
from saccade.runs.records import position_of
from saccade.runs.runinfo import RunInfo, RunPaths, read_info, read_json_object, versions
from saccade.types import Json

_LOCK = ".lock"
_FILES = (
    "settings.json",
    "config.yaml",
    "run.json",
    "asked.json",
    "held_out.json",
    "metrics.jsonl",
    "report.json",
    "report.html",
    "log.txt",
    CHECKSUMS,
)
_DIRECTORIES = ("tensorboard", "checkpoints", "trajectories", "media", "evaluations", "derived")
BESIDE_RECORDS = (segments.DIRECTORY, signals.DIRECTORY, clocks.DIRECTORY)
"""Folders that mirror those of records: what is known of a file stands at the same place in each."""
_SAMPLES = ("journal", "samples", "benchmarks", "judging", "prices.toml")
"""Made by evaluations alone."""
_TRACKERS = ("trackers.json", "wandb")
_OTHERS = ("nonfinite", "recipe", "engine", line_sums.FOLDER)
RUN_ENTRIES = frozenset({*_FILES, *_DIRECTORIES, *BESIDE_RECORDS, *_SAMPLES, *_TRACKERS, *_OTHERS})
"""Names of what a run may have in its directory."""
_OUR_FILES = RUN_ENTRIES | {_LOCK}
_MAY_BE_LINKS = ("checkpoints", "media")
"""Large folders that may lie on another disk. In the others files are cut off and deleted."""


logger = logging.getLogger(__name__)


def _refuse_changes(changes: Sequence[Change]) -> tuple[str, ...]:
    listed = "\n  ".join(map(str, changes))
    raise UserError(
        f"the run was started with other settings:\n  {listed}\n"
        "Resume it with the settings that it was started with, or choose another --out"
    )


class RunDirectory:
    """A run that this process alone may write.

    While it is open, what loggers below ``saccade`` say also goes to ``log.txt``. Close it, or use it in a
    ``with``, to give the lock back.
    """

    def __init__(self, paths: RunPaths, info: RunInfo, lock: IO[str], sums: RecordSums, *, is_resumed: bool) -> None:
        self.paths = paths
        self.info = info
        self.sums = sums
        self._damaged: frozenset[str] = frozenset()
        self.is_resumed = is_resumed
        self._lock = lock
        self._logger = logging.getLogger("saccade")
        self._log = logging.FileHandler(paths.log, encoding="utf-8", errors="backslashreplace")
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._logger.addHandler(self._log)

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        resume: bool,
        settings: Mapping[str, Json],
        command: Sequence[str] = (),
        title: str = "",
        config: str = "",
        held_out: Mapping[str, Json] | None = None,
        judge: Callable[[Sequence[Change]], tuple[str, ...]] = _refuse_changes,
    ) -> "RunDirectory":
        """Start a run at ``path``, or take an interrupted one up again.

        With ``resume`` an empty or absent directory starts a new run, so that the same command may be repeated
        until it ends. ``config`` is the text of ``config.yaml``; without one there is none. ``held_out`` is what
        ``held_out.json`` keeps from the first start on. ``judge`` is asked about
        settings that have changed since the run was started; it gives the lines that ``run.json`` keeps of them, or
        raises UserError. Raises UserError when the directory holds something else, a run that ``resume`` was not given
        for, or one that another process is writing.
        """
        paths = RunPaths(root=path)
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            found = {entry.name for entry in path.iterdir()} - {_LOCK}
        _refuse_foreign(path, found, resume=resume)
        refuse_links(path)
        check_plain_below(path)
        lock = lock_folder(path)
        try:
            sums = RecordSums(path)
            _refuse_damaged(sums)
            info = _started_info(paths, settings, command, title, judge)
            _remove_unfinished(path)
            with disk_errors(path):
                for name in _DIRECTORIES:
                    (path / name).mkdir(exist_ok=True)
            is_resumed = paths.info.exists()
            if sums.exists:
                # Without a last line that a kill tore.
                sums.keep(sums.sums)
            sums.write_json(paths.settings, settings)
            if config:
                sums.write(paths.config, config.encode())
            if held_out is not None and not paths.held_out.exists():
                # Before run.json: a run that has one and keeps nothing here is of an earlier version.
                sums.write_json(paths.held_out, held_out)
            sums.write_json(paths.info, plain_json(info))
            with disk_errors(paths.log):
                return cls(paths, info, lock, sums, is_resumed=is_resumed)
        except BaseException:
            lock.close()
            raise

    def finish(self, status: Literal["finished", "failed"], error: str = "") -> None:
        """Write down how the run ended; it stays locked until it is closed."""
        self.info = replace(self.info, status=status, ended=_now(), error=error)
        self.sums.write_json(self.paths.info, plain_json(self.info))
        self.sums.cover()

    def check_in_place(self) -> None:
        """UserError when the directory was removed or moved meanwhile, before a part of it is made anew."""
        check_in_place(self._lock.fileno(), self.paths.root / _LOCK)

    def note_restart(self, what: str) -> None:
        """Writes down that a process of the run was lost and replaced."""
        logger.warning("%s", what)
        self.info = replace(self.info, restarts=(*self.info.restarts, f"{_now()} {what}"))
        self.sums.write_json(self.paths.info, plain_json(self.info))

    def is_damaged(self, path: Path) -> bool:
        """Whether a file of records was found to be damaged or missing when the run was resumed."""
        return path.relative_to(self.paths.root).as_posix() in self._damaged

    def refuse_damaged(self, path: Path) -> None:
        """UserError for a damaged file that the run is about to go by."""
        if self.is_damaged(path):
            raise UserError(
                f"{path} is damaged, and what follows is worked out from it; start anew with another --out, or go on "
                f"with the file as it is by `saccade check {shell_words(self.paths.root)} --accept`"
            )

    @property
    def has_records(self) -> bool:
        """Whether anything was worked out so far: a step, an evaluation, a checkpoint."""
        written = (self.paths.root / name for name in ("checkpoints", "trajectories", "evaluations", "journal"))
        has_metrics = self.paths.metrics.exists() and self.paths.metrics.stat().st_size > 0
        return has_metrics or any(any(directory.iterdir()) for directory in written if directory.is_dir())

    def discard(self) -> None:
        """Delete what this process wrote, and the directory where nothing else is in it: the run never began."""
        self.close()
        with disk_errors(self.paths.root):
            for name in _OUR_FILES:
                path = self.paths.root / name
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            if not any(self.paths.root.iterdir()):
                self.paths.root.rmdir()

    def rewind(self, position: Position | None, stages: Sequence[str]) -> None:
        """Delete trajectories, evaluations and artefacts of everything after a checkpoint; None deletes all.

        ``stages`` are the names of the plan's stages in order. What a step writes must be written before the
        checkpoint of that step, or this keeps what the resumed run writes again. ``MetricsWriter.open`` does
        the same for metrics. What is damaged among the rest is said in the log.
        """
        self.sums.forget_after(position, stages)
        damages = self.sums.damages_on_resume()
        self._damaged = frozenset(damage.file for damage in damages)
        for what in [self.sums.problem] if self.sums.problem else [f"{self.paths.root}/{one}" for one in damages]:
            logger.warning("%s; the run goes on, and what it makes from now on is whole", what)
        for artefact in self.paths.derived.glob("*.json"):
            if position is None or Position(stage=artefact.stem, step=1).is_after(position, stages):
                with disk_errors(artefact):
                    artefact.unlink()
                    sync_directory(artefact.parent)
        files = [*(self.paths.root / "trajectories").glob("*/*.jsonl"), *self.paths.evaluations.glob("*.jsonl")]
        for file in files:
            # A damaged one may not say of which step it is; it came before the checkpoint, or it had no checksum now.
            if position is None or (not self.is_damaged(file) and position_of(file).is_after(position, stages)):
                with disk_errors(file):
                    for folder in BESIDE_RECORDS:
                        self.paths.beside(file, folder).unlink(missing_ok=True)
                    file.unlink()
                    sync_directory(file.parent)

    def close(self) -> None:
        """Give the lock and the log back; closing twice is allowed."""
        self._logger.removeHandler(self._log)
        self._log.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _refuse_damaged(sums: RecordSums) -> None:
    """UserError for a file that the run is resumed by; what it says does not come again."""
    for damage in sums.damages(("settings.json", "run.json", "asked.json", "held_out.json")):
        if damage.kind == "damaged":
            raise UserError(
                f"{sums.root}/{damage}. Delete it, and --resume goes on with the settings of the command; a "
                f"change that was meant is accepted by `saccade check {shell_words(sums.root)} --accept`"
            )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refuse_foreign(path: Path, found: set[str], *, resume: bool) -> None:
    foreign = sorted(name for name in found - _OUR_FILES if not name.startswith(TEMPORARY_PREFIX))
    if found and not resume:
        raise UserError(
            f"{path} is not empty. Continue the run in it with --resume, choose another --out, or delete it"
            if "run.json" in found
            else f"{path} is not empty and holds no run (it has {', '.join(sorted(found)[:3])}); choose another --out"
        )
    if foreign and "run.json" not in found:
        raise UserError(f"{path} holds no run to resume (it has {', '.join(foreign[:3])}); choose another --out")


def refuse_links(path: Path) -> None:
    """UserError for a link among what a run writes in place, empties or deletes: a copied run may hold any."""
    for name in sorted(_OUR_FILES.difference(_MAY_BE_LINKS)):
        refuse_link(path / name)
        for inside in (path / name).iterdir() if (path / name).is_dir() else ():
            refuse_link(inside)


def lock_folder(path: Path) -> IO[str]:
    with disk_errors(path):
        lock = (path / _LOCK).open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read(64).strip() or "unknown"
        lock.close()
        raise UserError(
            f"{path} is being written by another process (pid {holder}); wait for it or choose another --out"
        ) from None
    except OSError as error:
        lock.close()
        raise MachineError(f"{path}: the file system cannot lock files ({error.strerror}); use a local disk") from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def wait_for_lock(path: Path, within_s: float) -> None:
    """Waits until nobody writes the run there, for a process that is about to end; whoever comes next says if not."""
    until_s = time.monotonic() + within_s
    while (path / _LOCK).exists() and time.monotonic() < until_s:
        with disk_errors(path), (path / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.2)


def _started_info(
    paths: RunPaths,
    settings: Mapping[str, Json],
    command: Sequence[str],
    title: str,
    judge: Callable[[Sequence[Change]], tuple[str, ...]],
) -> RunInfo:
    if not paths.info.exists():
        return RunInfo(status="running", command=tuple(command), started=_now(), versions=versions(), title=title)
    # Through JSON, so that tuples and lists compare equal.
    given = json.loads(json.dumps(settings))
    if not paths.settings.exists():
        logger.warning("%s is missing: the run goes on with the settings of this command", paths.settings)
    before = read_json_object(paths.settings) if paths.settings.exists() else given
    info, now = read_info(paths), _now()
    changes = changes_between(before, given)
    try:
        made = judge(changes) if changes else ()
    except UserError as error:
        raise UserError(f"{paths.root}: {error}") from error
    installed = versions()
    for change in changes_between(dict(info.versions), dict(installed)):
        logger.warning("%s has changed since the run was started: results may differ", change)
    return replace(
        info,
        status="running",
        resumed=(*info.resumed, now),
        changed=(*info.changed, *(f"{now} {line}" for line in made)),
        ended=None,
        error="",
        versions=installed,
    )


def _remove_unfinished(path: Path) -> None:
    """Delete what a killed process was in the middle of writing."""
    for leftover in path.rglob(f"{TEMPORARY_PREFIX}*"):
        with disk_errors(leftover):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)
