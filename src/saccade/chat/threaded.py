"""A client of a server that outlives event loops: it has one of its own, in a thread of its own.

Connections, and the limit of requests that are out at a time, belong to an event loop, and each step of training has
another one. What is asked here goes out over the same connections from the first step to the last.
"""

import asyncio
import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from saccade.chat.chat_model import ChatCounts
from saccade.chat.loop_thread import LoopThread, cancel_others
from saccade.chat.openai_chat import ChatClient
from saccade.errors import MachineError
from saccade.retries import CircuitBreaker
from saccade.types import Message

logger = logging.getLogger(__name__)


class ChatThread:
    """A ``ConnectedChat`` at a server; what it has done is logged when it is left.

    A server that keeps failing must not hold a step up for as long as all of its questions take to fail: after
    ``2 * at_once`` failures in a row one question at a time is tried, until it is answered; whatever is asked meanwhile
    is a ``MachineError`` at once.
    """

    def __init__(self, client: ChatClient, *, at_once: int = 8) -> None:
        """The client belongs to the thread, which closes it. ``at_once`` questions are out at a time."""
        self._client = client
        self._at_once = at_once
        # Without rests: the client has waited between its tries.
        self._breaker = CircuitBreaker(client.base_url, failures=2 * at_once, first_rest_s=0.0)
        self._running: tuple[LoopThread, asyncio.Semaphore] | None = None

    @property
    def counts(self) -> ChatCounts:
        """What the client has done so far."""
        return self._client.counts

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        if self._running is None:
            raise RuntimeError("the thread of this client is not running; ask inside of a with")
        thread, places = self._running

        async def asked() -> Sequence[str]:
            async with places:
                return await self._asked(messages, temperature=temperature, samples=samples, seed=seed)

        # To stop waiting also stops the request.
        return await asyncio.wrap_future(thread.submit(asked()))

    async def _asked(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        passed = self._breaker.enter()
        try:
            texts = await self._client(messages, temperature=temperature, samples=samples, seed=seed)
        except MachineError:
            self._breaker.failed(passed)
            raise
        except BaseException:
            # A refusal is about the request; and one that is cancelled says nothing of the server.
            self._breaker.given_up(passed)
            raise
        self._breaker.succeeded(passed)
        return texts

    def __enter__(self) -> Self:
        self._running = LoopThread("saccade-chat"), asyncio.Semaphore(self._at_once)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._running is not None
        thread, _ = self._running
        self._running = None
        thread.submit(self._wound_up()).result()
        thread.stop()
        done = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.as_counts().items())
        logger.info("asked of %s at %s: %s", self._client.model, self._client.base_url, done)

    async def _wound_up(self) -> None:
        await cancel_others()
        await self._client.close()
