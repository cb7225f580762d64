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

from saccade.engines.chat_counts import ChatCounts
from saccade.engines.openai_chat import ChatClient
from saccade.types import Message

logger = logging.getLogger(__name__)


class ChatThread:
    """A ``Teacher`` while it is entered; what it has done is logged when it is left."""

    def __init__(self, client: ChatClient) -> None:
        """The client belongs to the thread: nobody else closes it."""
        self._client = client
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    @property
    def counts(self) -> ChatCounts:
        """What the client has done so far."""
        return self._client.counts

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        if self._running is None:
            raise RuntimeError("the thread of this client is not running; ask inside of a with")
        asked = self._client(messages, temperature=temperature, samples=samples, seed=seed)
        # Whoever stops waiting also stops the request.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._running[0]))

    def __enter__(self) -> Self:
        loop = asyncio.new_event_loop()
        self._running = loop, threading.Thread(target=loop.run_forever, name="saccade-chat", daemon=True)
        self._running[1].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._running is not None
        loop, thread = self._running
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
