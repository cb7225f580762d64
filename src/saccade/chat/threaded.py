"""A client of a server that outlives event loops: it has one of its own, in a thread of its own.

Connections, and the limit of requests that are out at a time, belong to an event loop, and each step of training has
another one. What is asked here goes out over the same connections from the first step to the last.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from saccade.chat.counts import ChatCounts
from saccade.chat.openai_chat import ChatClient
from saccade.errors import MachineError
from saccade.types import Message

logger = logging.getLogger(__name__)


class ChatThread:
    """A ``ChatModel`` while it is entered; what it has done is logged when it is left.

    A server that keeps failing must not hold a step up for as long as all of its questions take to fail: after
    ``2 * at_once`` failures in a row one question at a time is tried, until it is answered; whatever is asked meanwhile
    is a ``MachineError`` at once.
    """

    def __init__(self, client: ChatClient, *, at_once: int = 8) -> None:
        """The client belongs to the thread: nobody else closes it. ``at_once`` questions are out at a time."""
        self._client = client
        self._at_once = at_once
        self._failures = 0
        """In a row, as the thread's own loop counts them."""
        self._is_trying = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore, threading.Thread] | None = None

    @property
    def counts(self) -> ChatCounts:
        """What the client has done so far."""
        return self._client.counts

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        if self._running is None:
            raise RuntimeError("the thread of this client is not running; ask inside of a with")
        loop, places, _ = self._running

        async def asked() -> Sequence[str]:
            async with places:
                return await self._asked(messages, temperature=temperature, samples=samples, seed=seed)

        # Whoever stops waiting also stops the request.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked(), loop))

    async def _asked(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        is_failing = self._failures >= 2 * self._at_once
        if is_failing and self._is_trying:
            raise MachineError(f"{self._client.base_url} has failed {self._failures} times in a row and is left alone")
        self._is_trying |= is_failing
        try:
            texts = await self._client(messages, temperature=temperature, samples=samples, seed=seed)
        except MachineError:
            self._count_failure()
            raise
        finally:
            # Those that were out before it failed so often are no trial.
            self._is_trying &= not is_failing
        if is_failing:
            logger.info("%s answers again", self._client.base_url)
        self._failures = 0
        return texts

    def _count_failure(self) -> None:
        self._failures += 1
        if self._failures == 2 * self._at_once:
            logger.warning(
                "%s has failed %d times in a row; from now on one question at a time is tried until it answers",
                self._client.base_url,
                self._failures,
            )

    def __enter__(self) -> Self:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="saccade-chat", daemon=True)
        self._running = loop, asyncio.Semaphore(self._at_once), thread
        thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._running is not None
        loop, _, thread = self._running
        self._running = None
        asyncio.run_coroutine_threadsafe(_wound_up(self._client), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        done = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.as_counts().items())
        logger.info("asked of %s at %s: %s", self._client.model, self._client.base_url, done)


async def _wound_up(client: ChatClient) -> None:
    """What is still being asked is cancelled, and connections are closed."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await client.close()
