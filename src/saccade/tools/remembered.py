"""Sessions that never run the same code twice: what the same runs gave on the same images is given again.

A session is a function of its images, its seed and its runs, but for code that reads the clock. So imitation that shows
an example again, and samples of one question that write the same code, need not wait for it.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future

from PIL import Image

from saccade.errors import MachineError
from saccade.sandbox.contract import RunResult
from saccade.tools.code import Session, Sessions

_REPEATABLE = (None, "exception", "exit")
"""Kinds of errors that do not depend on how busy the machine is."""


class RememberedSessions:
    """Sessions of ``sessions`` that remember up to ``max_runs`` runs, those asked for last; safe for many threads."""

    def __init__(self, sessions: Sessions, *, max_runs: int = 4096) -> None:
        self._sessions = sessions
        self._max_runs = max_runs
        self._runs: OrderedDict[bytes, Future[RunResult]] = OrderedDict()
        self._lock = threading.Lock()

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> "RememberedSession":
        """A session that begins when code must really run."""
        return RememberedSession(self, self._sessions, dict(images), seed)

    def claim(self, key: bytes) -> tuple[Future[RunResult], bool]:
        """The run of this key, and whether the caller is the one who must make it."""
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key], False
            self._runs[key] = Future()
            if len(self._runs) > self._max_runs:
                self._runs.popitem(last=False)
            return self._runs[key], True

    def forget(self, key: bytes) -> None:
        """The next who asks for this run makes it anew."""
        with self._lock:
            self._runs.pop(key, None)


class RememberedSession:
    """One session; made by ``RememberedSessions``."""

    def __init__(
        self, memory: RememberedSessions, sessions: Sessions, images: Mapping[str, Image.Image], seed: int
    ) -> None:
        self._memory = memory
        self._sessions = sessions
        self._images = images
        self._seed = seed
        self._history = _digest(str(seed).encode(), *_contents(images))
        self._behind: list[tuple[str, float]] = []
        """Runs whose results were remembered: the real session has yet to make them."""
        self._real: Session | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """What the code gives after the runs before it; MachineError as the session behind."""
        key = _digest(self._history, str(timeout_s).encode(), code.encode("utf-8", "replace"))
        run, is_mine = self._memory.claim(key)
        result = self._made(run, key, code, timeout_s) if is_mine else run.result()
        self._history = key
        if not is_mine:
            self._behind.append((code, timeout_s))
        return result

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._real is not None:
                self._real.close()

    def _made(self, run: Future[RunResult], key: bytes, code: str, timeout_s: float) -> RunResult:
        try:
            result = self._caught_up().run(code, timeout_s=timeout_s)
        except BaseException as error:
            self._memory.forget(key)
            run.set_exception(error if isinstance(error, MachineError) else MachineError(f"a run was lost: {error!r}"))
            raise
        if (result.error.kind if result.error else None) not in _REPEATABLE:
            self._memory.forget(key)
        run.set_result(result)
        return result

    def _caught_up(self) -> Session:
        """The real session, after all runs that were only remembered."""
        with self._lock:
            if self._is_closed:
                raise MachineError("the session is closed")
            if self._real is None:
                self._real = self._sessions.session(images=self._images, seed=self._seed)
        while self._behind:
            code, timeout_s = self._behind[0]
            self._real.run(code, timeout_s=timeout_s)
            self._behind.pop(0)
        return self._real


def _contents(images: Mapping[str, Image.Image]) -> list[bytes]:
    return [
        part for name, image in images.items() for part in (name.encode(), f"{image.size}".encode(), image.tobytes())
    ]


def _digest(*parts: bytes) -> bytes:
    """One number for parts that are told apart by their lengths."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
