"""Coroutines run to their end by callers that are no coroutines themselves."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def run_to_end(coroutine: Coroutine[object, object, Result]) -> Result:
    """The coroutine's result, also where an event loop runs already, as in a notebook: then in a thread of its own.

    An interruption of the waiting caller cancels the coroutine.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Result]]] = []

    async def cancellable() -> Result:
        task = asyncio.ensure_future(coroutine)
        loops.append((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="event-loop") as pool:
        waiting = pool.submit(asyncio.run, cancellable())
        try:
            return waiting.result()
        except BaseException:
            if not waiting.done():
                for loop, task in loops:
                    loop.call_soon_threadsafe(task.cancel)
            raise
