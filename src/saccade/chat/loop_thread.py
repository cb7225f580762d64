"""An event loop in a thread of its own, for what must outlive the loops of its callers or has none."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar
from weakref import finalize

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own, until it is stopped or nothing refers to it any more."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # Of the loop alone: a thread that held this object would keep it for ever.
        self._thread = threading.Thread(target=_run, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        finalize(self, _stop, self._loop).atexit = False

    def submit(self, work: Coroutine[object, object, T]) -> "Future[T]":
        """The work's result, some time."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """What is still being worked on is cancelled, and the thread ends."""
        self.submit(cancel_others()).result()
        _stop(self._loop)
        self._thread.join()


async def cancel_others() -> None:
    """Ends all that this event loop is still working on."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    # One that is closed has stopped.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(loop.stop)
