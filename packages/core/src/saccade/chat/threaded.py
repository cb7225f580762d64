"""Event loops in threads of their own, for what must outlive the loops of its callers.

Connections, and the limit of requests that are out at a time, belong to an event loop, and each step of training has
another one. What is asked of a ``ChatThread`` goes out over the same connections from the first step to the last.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar
from weakref import finalize

from saccade.chat.chat_model import ChatCounts
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError
from saccade.retries import CircuitBreaker
from saccade.types import Message

if TYPE_CHECKING:
    # Its package ``openai`` is needed by those who make a client.
    from saccade.chat.openai_chat import ChatClient
    from saccade.chat.wire import ChatReply

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
        """Cancels all work under way and ends the thread."""
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


logger = logging.getLogger(__name__)


class ChatThread:
    """A ``ConnectedChat`` at a server; what it has done is logged when it is left.

    A server that keeps failing must not hold a step up for as long as all of its questions take to fail: after
    ``2 * at_once`` failures in a row one question at a time is tried, until it is answered; whatever is asked meanwhile
    is a ``MachineError`` at once.
    """

    def __init__(self, client: "ChatClient", *, at_once: int = 8) -> None:
        """The client belongs to the thread, which closes it. ``at_once`` questions are out at a time."""
        self._client = client
        self._at_once = at_once
        # Without rests: the client has waited between its tries.
        self._breaker = CircuitBreaker(client.base_url, failures=2 * at_once, first_rest_s=0.0)
        self._running: tuple[LoopThread, asyncio.Semaphore] | None = None
        self._has_refused = False

    @property
    def counts(self) -> ChatCounts:
        """Counts of the client so far."""
        return self._client.counts

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        return await self._in_thread(
            lambda: self._client(messages, temperature=temperature, samples=samples, seed=seed)
        )

    async def counted_reply(self, messages: Sequence[Message], *, temperature: float, seed: int) -> "ChatReply":
        """One text with its tokens as the server counted them, and whether a limit ended it."""
        return await self._in_thread(lambda: self._client.counted_reply(messages, temperature=temperature, seed=seed))

    async def streamed_reply(
        self, messages: Sequence[Message], *, temperature: float, seed: int, on_text: Callable[[str], None]
    ) -> "ChatReply":
        """The same, heard while it comes."""
        return await self._in_thread(
            lambda: self._client.streamed_reply(messages, temperature=temperature, seed=seed, on_text=on_text)
        )

    async def _in_thread(self, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        if self._running is None:
            raise RuntimeError("the thread of this client is not running; ask inside a with block")
        thread, places = self._running

        async def ask_in_turn() -> T:
            async with places:
                return await self._ask_guarded(ask)

        # To stop waiting also stops the request.
        return await asyncio.wrap_future(thread.submit(ask_in_turn()))

    async def _ask_guarded(self, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        passed = self._breaker.enter()
        try:
            answered = await ask()
        except MachineError:
            self._breaker.failed(passed)
            raise
        except RefusedRequestError as error:
            if not self._has_refused:
                logger.warning("the first request that was refused: %s", error)
            self._has_refused = True
            self._breaker.given_up(passed)
            raise
        except BaseException:
            # One that is cancelled says nothing of the server.
            self._breaker.given_up(passed)
            raise
        self._breaker.succeeded(passed)
        return answered

    def __enter__(self) -> Self:
        self._running = LoopThread("saccade-chat"), asyncio.Semaphore(self._at_once)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._running is not None
        thread = self._running[0]
        self._running = None
        thread.submit(self._wound_up()).result()
        thread.stop()
        done = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.as_counts().items())
        logger.info("calls to %s at %s: %s", self._client.model, self._client.base_url, done)

    async def _wound_up(self) -> None:
        await cancel_others()
        await self._client.close()
