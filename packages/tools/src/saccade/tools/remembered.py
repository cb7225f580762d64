"""Remembered results: sessions that never run the same code twice, and tools that never do the same call twice.

A session is a function of its images, its seed and its runs, but for code that reads the clock; a tool depends on its
arguments alone. So imitation that shows a question again, and samples of one question that write the same code or make
the same call, need not wait for it.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from PIL import Image

from saccade.errors import MachineError, ToolError, UserError
from saccade.sandbox.results import RunResult
from saccade.tools.code import CodeSession, Sessions
from saccade.tools.tool import Returned, Tool, ToolOutput

_REPEATABLE = (None, "exception", "exit")
"""Kinds of errors that do not depend on how busy the machine is."""
_BYTES_BESIDE = 4096
"""Size of any result beside its content: its objects, its key and its place in the list."""


class RememberedSessions:
    """A cache of recent runs in front of ``sessions``; thread-safe.

    It keeps up to ``max_runs`` runs whose results take up to ``max_bytes`` of memory in total. A result of more than an
    eighth of that is not kept.
    """

    def __init__(self, sessions: Sessions, *, max_runs: int = 4096, max_bytes: int = 128 << 20) -> None:
        if max_runs < 1 or max_bytes < 1:
            raise UserError(f"max_runs={max_runs} and max_bytes={max_bytes} must be 1 or more")
        self._sessions = sessions
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._bytes = 0
        self._sizes: dict[bytes, int] = {}
        self._runs: OrderedDict[bytes, Future[RunResult]] = OrderedDict()
        self._claimed: dict[bytes, Future[RunResult]] = {}
        """Runs in progress; those may not be forgotten."""
        self._lock = threading.Lock()

    @property
    def isolation(self) -> str:
        """Isolation of the sessions that run code which is not in the cache."""
        return getattr(self._sessions, "isolation", "full")

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> "RememberedSession":
        """A session that starts only when code must run."""
        return RememberedSession(self, self._sessions, dict(images), seed)

    def claim(self, key: bytes) -> tuple[Future[RunResult], bool]:
        """The run of this key, and whether the caller must make it."""
        with self._lock:
            if key in self._claimed:
                return self._claimed[key], False
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key], False
            run = self._runs[key] = self._claimed[key] = Future()
            self._shrink()
            return run, True

    def keep(self, key: bytes, result: RunResult, *, is_repeatable: bool) -> None:
        """Gives a result to the waiting callers, and to later ones if it is repeatable."""
        size = _size(result)
        is_small = 8 * size <= self._max_bytes
        self._release_claim(key, size=size if is_repeatable and is_small else None).set_result(result)

    def lose(self, key: bytes, error: BaseException) -> None:
        """Tells the waiting callers that there is no result; the next caller runs the code again."""
        self._release_claim(key, size=None).set_exception(MachineError(f"a run was lost: {error!r}"))

    def _release_claim(self, key: bytes, *, size: int | None) -> Future[RunResult]:
        """The run that was claimed, which is forgotten unless its result has a size."""
        with self._lock:
            run = self._claimed.pop(key)
            if self._runs.get(key) is run:
                if size is None:
                    del self._runs[key]
                else:
                    self._sizes[key] = size
                    self._bytes += size
                    self._shrink()
            return run

    def _shrink(self) -> None:
        """Forgets what was asked for longest ago, until the rest is within bounds."""
        while len(self._runs) > self._max_runs or self._bytes > self._max_bytes:
            oldest, _ = self._runs.popitem(last=False)
            self._bytes -= self._sizes.pop(oldest, 0)


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
        self._real: CodeSession | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """The result of the code after the runs before it; MachineError as the session behind."""
        key = _digest(self._history, str(timeout_s).encode(), code.encode("utf-8", "replace"))
        result = self._result_of_others(key)
        if result is None:
            result = self._make_run(key, code, timeout_s)
        else:
            self._behind.append((code, timeout_s))
        self._history = key
        return result

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._real is not None:
                self._real.close()

    def _result_of_others(self, key: bytes) -> RunResult | None:
        """The result of another session's run of this key; None when this session must make it."""
        while True:
            run, is_mine = self._memory.claim(key)
            if is_mine:
                return None
            # Its maker may have lost its session: then another has to.
            with suppress(MachineError):
                return run.result()

    def _make_run(self, key: bytes, code: str, timeout_s: float) -> RunResult:
        """Makes the claimed run, and gives its result to the waiting callers."""
        try:
            result = self._caught_up().run(code, timeout_s=timeout_s)
        except BaseException as error:
            self._memory.lose(key, error)
            raise
        kind = result.error.kind if result.error else None
        self._memory.keep(key, result, is_repeatable=kind in _REPEATABLE)
        return result

    def _caught_up(self) -> CodeSession:
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


def _size(result: RunResult) -> int:
    """Bytes that a result keeps in memory."""
    texts = [result.stdout, result.stderr]
    if result.error is not None:
        texts += [result.error.name, result.error.message, result.error.traceback]
    # Of a string with one wide character each takes four bytes, and so does a pixel in PIL.
    return (
        _BYTES_BESIDE
        + 4 * sum(len(text) for text in texts)
        + sum(4 * image.width * image.height for image in result.images)
    )


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


MAX_CALLS = 8192
MAX_KEPT_CHARS = 4096
"""Longer texts, and pictures, are made anew each time."""

Kept = Returned | ToolError
"""The output of a call, or its refusal."""


def remembering(tool: Tool, *, max_calls: int = MAX_CALLS) -> Tool:
    """The tool with a cache of its recent calls; thread-safe."""
    return replace(tool, function=_Remembering(tool.function, max_calls))


class _Remembering:
    def __init__(self, function: Callable[..., Returned], max_calls: int) -> None:
        self._function = function
        self._max_calls = max_calls
        self._calls: OrderedDict[bytes, Future[Kept]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, **values: object) -> Returned:
        key = _call_digest(values)
        while True:
            with self._lock:
                call, is_mine = self._calls.get(key), key not in self._calls
                if call is None:
                    call = self._calls[key] = Future()
                self._calls.move_to_end(key)
            if is_mine:
                return self._make_call(key, call, values)
            # The output may be of a kind that is not kept: then this call is made anew.
            with suppress(MachineError):
                kept = call.result()
                if isinstance(kept, ToolError):
                    raise ToolError(str(kept))
                return kept

    def _make_call(self, key: bytes, call: Future[Kept], values: dict[str, object]) -> Returned:
        try:
            returned = self._function(**values)
        except ToolError as error:
            self._keep(key, call, error)
            raise
        except BaseException:
            self._keep(key, call, None)
            raise
        self._keep(key, call, returned if _is_small(returned) else None)
        return returned

    def _keep(self, key: bytes, call: Future[Kept], kept: Kept | None) -> None:
        """Answers the waiting callers; None is a lost call, so that each of them makes it."""
        with self._lock:
            if kept is None:
                self._calls.pop(key, None)
            while len(self._calls) > self._max_calls:
                self._calls.popitem(last=False)
        if kept is None:
            call.set_exception(MachineError("the result of this call was not kept"))
        else:
            call.set_result(kept)


def _is_small(returned: Returned) -> bool:
    """Whether an output is a short text without pictures."""
    match returned:
        case str() as text:
            return len(text) <= MAX_KEPT_CHARS
        case ToolOutput(text=text, images=()):
            return len(text) <= MAX_KEPT_CHARS
        case _:
            return False


def _call_digest(values: dict[str, object]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(values.items()):
        is_picture = isinstance(value, Image.Image)
        content = value.tobytes() if isinstance(value, Image.Image) else repr(value).encode()
        shape = f"{value.mode} {value.size}" if isinstance(value, Image.Image) else ""
        digest.update(f"{name} {is_picture} {shape} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()
