"""Requests of many coroutines gathered into one call of a blocking function, so that a model sees few large batches."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Request = TypeVar("Request")
Response = TypeVar("Response")


@dataclass
class _Batch(Generic[Request, Response]):
    found: "asyncio.Future[Sequence[Response]]"
    requests: list[Request] = field(default_factory=list)


class Gathered(Generic[Request, Response]):
    """Awaitable form of ``find``: what all coroutines ask before any of them goes on is one call of it, in a thread.

    It may be used from one event loop after another, as each step of training has its own.
    """

    def __init__(self, find: Callable[[Sequence[Request]], Sequence[Response]]) -> None:
        """``find`` gives one response for each request, in their order."""
        self._find = find
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, _Batch[Request, Response]] = WeakKeyDictionary()
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, requests: Sequence[Request]) -> Sequence[Response]:
        """The responses to these requests; raises what ``find`` raised."""
        if not requests:
            return []
        loop = asyncio.get_running_loop()
        batch = self._waiting.get(loop)
        if batch is None:
            batch = self._waiting[loop] = _Batch(loop.create_future())
            # After all coroutines that are ready now have had their turn.
            loop.call_soon(self._send, loop, batch)
        start = len(batch.requests)
        batch.requests += requests
        found = await asyncio.shield(batch.found)
        return found[start : start + len(requests)]

    def _send(self, loop: asyncio.AbstractEventLoop, batch: _Batch[Request, Response]) -> None:
        del self._waiting[loop]
        task = loop.create_task(self._run(batch))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, batch: _Batch[Request, Response]) -> None:
        try:
            found = await asyncio.to_thread(self._find, batch.requests)
            if len(found) != len(batch.requests):
                raise ValueError(f"{len(found)} responses to {len(batch.requests)} requests; give one for each")
            batch.found.set_result(found)
        except asyncio.CancelledError:
            # The whole loop is stopped: there is nobody left to hear of an exception.
            batch.found.cancel()
            raise
        except BaseException as error:
            batch.found.set_exception(error)
            if not isinstance(error, Exception):
                raise
