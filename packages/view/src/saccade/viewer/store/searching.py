"""Text search: the heads of records scanned for a text, newest first, in a thread of its own and with a bound."""

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saccade.plain_files import open_plain
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView

MAX_BYTES = 4 << 30
"""Bytes of records that one search reads."""
_KEPT = 4
"""Searches that are kept, the last ones."""


@dataclass(kw_only=True)
class Search:
    """A search over a run as it was when it began; ``found`` grows while it goes on."""

    text: str
    view: RowsView
    found: NDArray[np.bool_]
    scanned: int = 0
    is_complete: bool = False
    is_cut: bool = False
    """The bound was met before the last trajectory."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _moved: threading.Condition = field(default_factory=threading.Condition)

    def stop(self) -> None:
        self._ended.set()

    def wait(self, seconds: float) -> None:
        """Until it is complete, or so long."""
        deadline = time.monotonic() + seconds
        with self._moved:
            while not self.is_complete and (left := deadline - time.monotonic()) > 0:
                self._moved.wait(left)

    def scan(self, run: Run, on_progress: Callable[["Search"], None]) -> None:
        """Reads file after file; those that went away meanwhile are passed over."""
        needles = _needles(self.text)
        files, first = np.unique(self.view.columns["file"], return_index=True)
        ranks = self.view.rank[first]
        read, told_s = 0, time.monotonic()
        for number in files[np.argsort(ranks)[::-1]]:
            if self._ended.is_set() or read > MAX_BYTES:
                self.is_cut = read > MAX_BYTES
                break
            rows = np.flatnonzero(self.view.columns["file"] == number)
            read += self._scan_file(run, int(number), rows, needles)
            self.scanned += len(rows)
            if time.monotonic() - told_s > 0.5:
                told_s = time.monotonic()
                on_progress(self)
        with self._moved:
            self.is_complete = True
            self._moved.notify_all()
        on_progress(self)

    def _scan_file(self, run: Run, number: int, rows: NDArray[np.intp], needles: Sequence[bytes]) -> int:
        try:
            file = run.file(number)
            places = run.segment_texts(file).places()
            with open_plain(file.path) as opened:
                size, read = os.fstat(opened.fileno()).st_size, 0
                tasks: dict[int, bool] = {}
                for row, place in zip(rows, places):
                    if place.task_offset not in tasks:
                        tasks[place.task_offset] = _has(
                            opened.fileno(), place.task_offset, place.task_length, size, needles
                        )
                        read += place.task_length
                    self.found[row] = tasks[place.task_offset] or _has(
                        opened.fileno(), place.offset, place.head or place.length, size, needles
                    )
                    read += place.head
                return read
        except (GoneError, OSError):
            return 0


def _has(descriptor: int, offset: int, length: int, size: int, needles: Sequence[bytes]) -> bool:
    if not (offset >= 0 and 0 < length <= MAX_BYTES and offset + length <= size):
        return False
    text = os.pread(descriptor, length, offset).lower()
    return any(needle in text for needle in needles)


def _needles(text: str) -> list[bytes]:
    """The text in the spellings that JSON gives it: escaped, as Saccade writes it, and as UTF-8."""
    escaped = json.dumps(text.lower())[1:-1].lower().encode("ascii")
    # Capital letters beyond ASCII have escapes of their own.
    upper = json.dumps(text.upper())[1:-1].lower().encode("ascii")
    plain = json.dumps(text.lower(), ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    return list(dict.fromkeys([escaped, upper, plain]))


@dataclass(kw_only=True)
class Searches:
    """The last searches of a run, each in its thread."""

    run: Run
    on_progress: Callable[[Run, Search], None]
    _kept: OrderedDict[str, Search] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, text: str, *, wait_s: float) -> Search:
        """The search for a text, begun anew when the run has grown since it was complete."""
        view = self.run.table.view()
        with self._lock:
            kept = self._kept.get(text)
            if kept is None or (kept.is_complete and kept.view.version != view.version):
                kept = self._kept[text] = Search(text=text, view=view, found=np.zeros(view.count, bool))
                threading.Thread(target=kept.scan, args=(self.run, self._tell), name="search", daemon=True).start()
            self._kept.move_to_end(text)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)[1].stop()
        kept.wait(wait_s)
        return kept

    def _tell(self, search: Search) -> None:
        self.on_progress(self.run, search)
