"""A run copied to its folder elsewhere beside the training, save by save."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import xxhash

from saccade.checksums import files_below
from saccade.heartbeat import phase
from saccade.plain_files import open_plain, plain_bytes
from saccade.retries import back_off_s
from saccade.runs.directory import RUN_ENTRIES
from saccade.runs.save_folder import PIECE_BYTES, Save, SavedFile, SaveFolder, place_again

_TRIES = 6
_FIRST_WAIT_S = 1.0
_REPLACED = (".json", ".yaml", ".html")
"""Ends of names of small files at the top of a run, which are replaced as it goes on; others grow, or stay."""
_WITHOUT_RECORDS = ("checkpoints", "derived", "recipe", "metrics.jsonl", "log.txt")

Made = TypeVar("Made")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """A file of the run when a save began: its first bytes, or all of it where it may be replaced meanwhile."""

    file: str
    size: int
    changed_ns: int
    content: bytes | None


class Saver:
    """Copies a run to its folder beside the training: one save at a time, on one thread.

    A save that fails is warned of and counted, never the end of the run: the next one brings what is missing.
    """

    def __init__(self, folder: SaveFolder, root: Path, *, records: bool, newest: Save | None) -> None:
        self.failed = 0
        """Saves that failed so far."""
        self._folder, self._root, self._records = folder, root, records
        self._newest = newest
        self._sums: dict[tuple[str, int, int], str] = {}
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="save folder")
        self._running: Future[None] | None = None

    def wait(self) -> None:
        """Returns when the save that runs has ended: before files of the run are deleted."""
        if self._running is not None:
            with phase(lambda: "waiting for the copy of the run"):
                self._running.result()
            self._running = None

    def save(self) -> None:
        """Begins to copy the run as it is now."""
        self.wait()
        try:
            found = _files_of(self._root, records=self._records)
        except OSError as error:
            self._fail(error)
            return
        self._running = self._thread.submit(self._save, found)

    def _save(self, found: Sequence[_Found]) -> None:
        try:
            before = self._newest
            held = {one.file: one for one in before.files} if before is not None else {}
            taken = {one.at for one in held.values()}
            files = [self._bring(one, held.get(one.file), taken) for one in found]
            save = Save(number=1 if before is None else before.number + 1, files=tuple(files))
            try_often(lambda: self._folder.finish(save), self._stopped)
            self._newest = save
            if before is not None:
                self._folder.drop(before, save)
        except Exception as error:
            # Whatever a store or its client does must not cost the run.
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failed += 1
        why = f"{type(error).__name__}: {error}"
        logger.warning("the run could not be copied to %s: %s; the next checkpoint tries again", self._folder.url, why)

    def _bring(self, one: _Found, held: SavedFile | None, taken: set[str]) -> SavedFile:
        """Uploads a file unless the newest save has it."""
        path, key = self._root / one.file, (one.file, one.size, one.changed_ns)
        if key not in self._sums:
            self._sums[key] = _sum_of(path, one)
        digest = self._sums[key]
        if held is not None and (held.bytes, held.xxh3_128) == (one.size, digest):
            return held
        at = place_again(one.file, digest) if one.file in taken else one.file

        def upload() -> None:
            with open_plain(path) if one.content is None else BytesIO(one.content) as file:
                if self._folder.write(at, file, one.size) != digest:
                    raise ValueError(f"{one.file} has changed while it was read")

        try_often(upload, self._stopped)
        return SavedFile(file=one.file, bytes=one.size, xxh3_128=digest, at=at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and not issubclass(kind, Exception):
            # Somebody waits for the command to end: what failed is not tried again.
            self._stopped.set()
        self._thread.shutdown()
        if self.failed:
            logger.warning("%d saves to %s failed; its newest is whole", self.failed, self._folder.url)


def try_often(do: Callable[[], Made], stopped: threading.Event) -> Made:
    """What ``do`` gives, which is tried again where it raises, unless it has found that what is there is wrong."""
    for attempt in range(_TRIES):
        try:
            return do()
        except (FileNotFoundError, PermissionError, ValueError):
            raise
        except Exception:
            if attempt == _TRIES - 1 or stopped.wait(back_off_s(attempt, first_wait_s=_FIRST_WAIT_S, seed=0)):
                raise
    raise AssertionError("the last try returns or raises")


def _files_of(root: Path, *, records: bool) -> list[_Found]:
    """What a save has of a run: nothing that is being written, and no link to elsewhere but the run's large folders."""
    found: list[_Found] = []
    for entry in sorted(RUN_ENTRIES):
        path = root / entry
        is_wanted = records or entry in _WITHOUT_RECORDS or entry.endswith(_REPLACED)
        if path.is_dir() and is_wanted:
            found += (_state_of(root, f"{entry}/{name}") for name in _names_below(path))
        elif path.is_file() and is_wanted and not path.is_symlink():
            found.append(_state_of(root, entry))
    return found


def _names_below(folder: Path) -> list[str]:
    return [name for name in files_below(folder) if (folder / name).is_file() and not (folder / name).is_symlink()]


def _state_of(root: Path, name: str) -> _Found:
    path, content = root / name, None
    state = path.stat()
    if "/" not in name and name.endswith(_REPLACED):
        content = plain_bytes(path)
    size = state.st_size if content is None else len(content)
    return _Found(file=name, size=size, changed_ns=state.st_mtime_ns, content=content)


def _sum_of(path: Path, one: _Found) -> str:
    if one.content is not None:
        return xxhash.xxh3_128_hexdigest(one.content)
    digest, left = xxhash.xxh3_128(), one.size
    with open_plain(path) as file:
        while left > 0 and (piece := file.read(min(PIECE_BYTES, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
