"""Running a tool under its deadline, in one of a bounded number of threads that all environments share."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from saccade.errors import MachineError

MAX_RUNNING = 32
"""Tools at work at the same time in this process. One that hangs past its deadline keeps its place until it ends."""

Result = TypeVar("Result")

_places = threading.BoundedSemaphore(MAX_RUNNING)


def run_within(operation: Callable[[], Result], *, deadline_s: float, what: str) -> Result:
    """What ``operation`` returns or raises; ``MachineError`` when it takes longer or no place becomes free in time.

    Python cannot stop a thread: an operation over its deadline runs on, and what it returns is dropped.
    """
    if not _places.acquire(timeout=deadline_s):
        raise MachineError(f"{what} found none of {MAX_RUNNING} places free within {deadline_s:g} s")
    future: Future[Result] = Future()
    # A daemon, unlike the threads of an executor: a hanging tool must not keep the process from ending.
    threading.Thread(target=_work, args=(operation, future), name=what, daemon=True).start()
    try:
        return future.result(timeout=deadline_s)
    except TimeoutError:
        # The operation may itself have raised this kind of error.
        if future.done():
            raise
        raise MachineError(f"{what} took longer than its deadline of {deadline_s:g} s") from None


def _work(operation: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        result = operation()
    except BaseException as error:
        # Free before the answer is known, so that whoever waits for it finds the place free.
        _places.release()
        future.set_exception(error)
    else:
        _places.release()
        future.set_result(result)
