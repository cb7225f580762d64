"""Tools that never do the same work twice: what a call gave on the same picture and arguments is given again.

A tool depends on its arguments alone. So imitation that shows a question again, and samples of one question that make
the same call, need not wait for it.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from PIL import Image

from saccade.errors import MachineError, ToolError
from saccade.tools.tool import Returned, Tool, ToolOutput

MAX_CALLS = 8192
MAX_KEPT_CHARS = 4096
"""Longer texts, and pictures, are made anew each time."""

Kept = Returned | ToolError
"""What a call gave, or why it was refused."""


def remembering(tool: Tool, *, max_calls: int = MAX_CALLS) -> Tool:
    """The same tool with a memory of its last calls; safe for many threads."""
    return replace(tool, function=_Remembering(tool.function, max_calls))


class _Remembering:
    def __init__(self, function: Callable[..., Returned], max_calls: int) -> None:
        self._function = function
        self._max_calls = max_calls
        self._calls: OrderedDict[bytes, Future[Kept]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, **values: object) -> Returned:
        key = _digest(values)
        while True:
            with self._lock:
                call, is_mine = self._calls.get(key), key not in self._calls
                if call is None:
                    call = self._calls[key] = Future()
                self._calls.move_to_end(key)
            if is_mine:
                return self._made(key, call, values)
            # Whoever made it may have got what is not kept: then this call is made anew.
            with suppress(MachineError):
                kept = call.result()
                if isinstance(kept, ToolError):
                    raise ToolError(str(kept))
                return kept

    def _made(self, key: bytes, call: Future[Kept], values: dict[str, object]) -> Returned:
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
        """Tells those who wait; None is told as a lost call, so that each of them makes it."""
        with self._lock:
            if kept is None:
                self._calls.pop(key, None)
            while len(self._calls) > self._max_calls:
                self._calls.popitem(last=False)
        if kept is None:
            call.set_exception(MachineError("what this call gave is not kept"))
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


def _digest(values: dict[str, object]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(values.items()):
        is_picture = isinstance(value, Image.Image)
        content = value.tobytes() if isinstance(value, Image.Image) else repr(value).encode()
        shape = f"{value.mode} {value.size}" if isinstance(value, Image.Image) else ""
        digest.update(f"{name} {is_picture} {shape} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()
