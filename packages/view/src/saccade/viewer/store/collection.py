"""The runs that are looked at, kept up to date by a thread: new steps, new runs, folders that went away."""

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saccade.errors import UserError
from saccade.types import Json
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.indexing import index_pending, load_pending
from saccade.viewer.store.run import GoneError, RecordFile, Run
from saccade.viewer.store.sources import find_sources

logger = logging.getLogger(__name__)

Tell = Callable[[str, Mapping[str, Json]], None]
"""Told of each event: its name and what it says."""

_LOOK_EVERY_S = 1.0
_END_WITHIN_S = 5.0
"""Then the thread is left alone: it may wait for a disk that does not answer."""
_LOOKING = "looking"
_FIND_EVERY = 10
"""Looks at known runs between looks for new ones."""
_FIRST_VIEW_S = 0.5
"""The newest file fills the first list; until that is drawn, all others would take a core from server and browser."""


def cache_folder() -> Path:
    """Where indexes are kept that a run has none of: ``$XDG_CACHE_HOME/saccade/viewer``."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "saccade" / "viewer"


def _silent(_event: str, _told: Mapping[str, Json]) -> None:
    pass


@dataclass(kw_only=True)
class Collection:
    """Runs by id. ``start`` looks once and goes on looking in a thread; ``close`` ends that."""

    paths: tuple[Path, ...]
    cache: Path = field(default_factory=cache_folder)
    tell: Tell = _silent
    look_every_s: float = _LOOK_EVERY_S
    fields: FieldMap = FieldMap()
    """Names of the fields of files of messages."""
    checkpoint: Path | None = None
    """Of the policy of runs that keep none."""
    runs: dict[str, Run] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    gone: dict[str, str] = field(default_factory=dict)
    """Runs whose folders went away while they were looked at, with a word on it."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _stamps: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def start(self) -> None:
        """Raises UserError for a path that is not there."""
        self._find()
        self._thread = threading.Thread(target=self._keep, name="index", daemon=True)
        self._thread.start()

    def load(self) -> None:
        """Everything at once, for exports. Raises UserError for a path that is not there."""
        self._find()
        for run in self.runs.values():
            self._update(run)

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_END_WITHIN_S)

    def run(self, identity: str) -> Run:
        """GoneError where there is none."""
        if identity in self.gone:
            raise GoneError(self.gone[identity])
        if identity not in self.runs:
            raise GoneError(f"there is no run {identity[:40]!r} here")
        return self.runs[identity]

    def _find(self) -> None:
        sources, self.notes = find_sources(self.paths, self.fields)
        for source in sources:
            if source.id not in self.runs:
                folder = hashlib.blake2b(str(source.root.absolute()).encode("utf-8", "surrogateescape"), digest_size=12)
                self.runs[source.id] = Run(
                    source=source, cache=self.cache / folder.hexdigest(), checkpoint=self.checkpoint
                )
            self.gone.pop(source.id, None)

    def _keep(self) -> None:
        looks = 0
        while not self._ended.is_set():
            for run in list(self.runs.values()):
                self._look_safely(run)
            looks += 1
            self._ended.wait(self.look_every_s)
            if looks % _FIND_EVERY == 0:
                self._find_again()

    def _look_safely(self, run: Run) -> None:
        """Whatever is in one run, the others go on: a thread that ends would leave pages that never change."""
        try:
            self._look(run)
        except Exception as error:
            why = f"the run cannot be looked at: {type(error).__name__}: {str(error)[:200]}"
            if run.notes.get(_LOOKING) != why:
                logger.exception("looking at %s failed", run.source.root)
            run.notes[_LOOKING] = why
        else:
            run.notes.pop(_LOOKING, None)

    def _find_again(self) -> None:
        before = set(self.runs)
        try:
            if all(path.exists() for path in self.paths):
                self._find()
        except (UserError, OSError) as error:
            self.notes = [str(error)]
        for identity in set(self.runs) - before:
            self.tell("status", {"run": identity, "status": "new", "error": ""})

    def _look(self, run: Run) -> None:
        if not run.source.root.is_dir():
            if run.id not in self.gone:
                self.gone[run.id] = why = f"the folder {run.source.root} is no longer there"
                self.tell("gone", {"run": run.id, "why": why})
            return
        self.gone.pop(run.id, None)
        self._update(run)
        for name, path in (("metrics", run.paths.metrics), ("status", run.paths.info)):
            stamp = _stamp(path)
            if self._stamps.setdefault(f"{run.id} {name}", stamp) != stamp:
                self._stamps[f"{run.id} {name}"] = stamp
                self.tell(name, {"run": run.id})

    def _update(self, run: Run) -> None:
        is_new, is_first = not run.indexed[0], not run.is_looked_at
        # A page that was drawn before the first look says so until it is told, also where there are no files.
        has_changed = run.refresh() or is_first
        loads = load_pending(run, is_ended=self._ended.is_set)
        newest = next(loads, None)
        run.curves.refresh()
        if newest is not None:
            self._tell_index(run, newest)
            self._leave_time(run, is_new)
        elif not has_changed and not run.pending:
            return
        for steps in (loads, index_pending(run, is_ended=self._ended.is_set)):
            for count, file in enumerate(steps):
                # Many at once, since every look at the table sorts it.
                if not is_new or count in (0, 4, 16) or count % 64 == 0:
                    self._tell_index(run, file)
        self._tell_index(run, None)

    def _leave_time(self, run: Run, is_new: bool) -> None:
        if is_new and run.pending and len(self.runs) == 1 and self._thread is not None:
            self._ended.wait(_FIRST_VIEW_S)

    def _tell_index(self, run: Run, file: RecordFile | None) -> None:
        done, of = run.indexed
        self.tell("index", {"run": run.id, "done": done, "of": of})
        if file is not None:
            self.tell("step", {"run": run.id, "file": file.path.stem, "stage": file.path.parent.name})


def _stamp(path: Path) -> tuple[float, ...]:
    try:
        told = path.stat()
    except OSError:
        return ()
    return told.st_size, told.st_mtime_ns
