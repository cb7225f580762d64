"""The one thread that trains and samples, and the requests that wait for it, by the ids that clients ask by."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field

from saccade.errors import SaccadeError, UserError
from saccade.types import Json

logger = logging.getLogger(__name__)

Answer = bytes | dict[str, Json]
"""A protocol buffer, or an object of JSON."""

_KEPT_AFTER_READING = 256
_GATHERING_S = 0.01
"""For which no further sample has come, before those that did are sampled together."""


@dataclass(kw_only=True, eq=False)
class Work:
    """Something that a client waits for."""

    request_id: str
    do: Callable[[], Answer]
    group: Hashable = None
    """Equal for samples with the same weights, which are played together; None for all else."""
    future: "Future[Answer]" = field(default_factory=Future)
    is_read: bool = False
    """Whether its answer was sent; the client may ask again where it did not arrive."""


PlayTogether = Callable[[Sequence[Work]], Sequence[Answer | Exception]]
"""Samples of one group to their answers."""


class WorkQueue:
    """Does work in the order in which it came, but samples of one group with the first of them.

    What came in the meantime waits: a gradient is never taken while a batch is sampled.
    """

    def __init__(self, play: PlayTogether, *, most: int, kept: int) -> None:
        """``most`` requests may wait; of answers ``kept`` are remembered, and fewer of those that were sent."""
        self._play = play
        self._most = most
        self._kept = kept
        self._waiting: deque[Work] = deque()
        self._known: dict[str, Work] = {}
        self._condition = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="tinker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends after the work that is being done; what waits is cancelled."""
        with self._condition:
            self._is_closed = True
            while self._waiting:
                self._waiting.popleft().future.cancel()
            self._condition.notify()
        self._thread.join()

    def find(self, request_id: str) -> Work | None:
        return self._known.get(request_id)

    def is_full(self) -> bool:
        return len(self._waiting) >= self._most

    def add(self, work: Work) -> None:
        """Takes up work under an id that is not known yet."""
        with self._condition:
            self._known[work.request_id] = work
            self._waiting.append(work)
            self._condition.notify()
            done = [one for one in self._known.values() if one.future.done()]
            read = [one for one in done if one.is_read]
            for one in {*done[: max(0, len(done) - self._kept)], *read[: max(0, len(read) - _KEPT_AFTER_READING)]}:
                del self._known[one.request_id]

    def cancel(self, request_id: str) -> None:
        """Takes work back that has not begun."""
        with self._condition, suppress(ValueError):
            if (work := self._known.get(request_id)) is not None:
                self._waiting.remove(work)
                work.future.cancel()

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            if batch[0].group is None:
                _settle(batch[0], _answered(batch[0].do))
                continue
            try:
                answers: Sequence[Answer | Exception] = self._play(batch)
            except Exception as error:
                answers = [error] * len(batch)
            for work, answer in zip(batch, answers, strict=True):
                _settle(work, answer)

    def _next(self) -> list[Work] | None:
        """The next work, with all samples of its group; None at the end."""
        with self._condition:
            while not self._is_closed:
                if not self._condition.wait_for(lambda: self._waiting or self._is_closed) or self._is_closed:
                    break
                if self._waiting[0].group is not None:
                    self._gather()
                # It may have been taken back meanwhile.
                if self._waiting and not self._is_closed:
                    return self._taken()
            return None

    def _gather(self) -> None:
        count = -1
        while count < len(self._waiting):
            count = len(self._waiting)
            self._condition.wait(_GATHERING_S)

    def _taken(self) -> list[Work]:
        first = self._waiting[0]
        batch = [first] if first.group is None else [one for one in self._waiting if one.group == first.group]
        for work in batch:
            self._waiting.remove(work)
        return batch


def _answered(do: Callable[[], Answer]) -> Answer | Exception:
    try:
        return do()
    except Exception as error:
        return error


def _settle(work: Work, answer: Answer | Exception) -> None:
    if isinstance(answer, Exception):
        if not isinstance(answer, UserError):
            logger.error("%s failed", work.request_id, exc_info=answer)
        work.future.set_exception(answer)
    else:
        work.future.set_result(answer)


def failure_of(work: Work) -> dict[str, Json] | None:
    """What a client is told of work that failed; None where it did not."""
    try:
        error = work.future.exception()
    except CancelledError:
        return {"error": "the request was taken back, or the server ended", "category": "server"}
    if error is None:
        return None
    if isinstance(error, UserError):
        return {"error": str(error), "category": "user"}
    told = str(error) if isinstance(error, SaccadeError) else f"{type(error).__name__}: {error}"
    return {"error": f"the server failed: {told[:1000]}", "category": "server"}


async def wait_until_done(work: Work, seconds: float) -> bool:
    """Whether it is done within that time."""
    await asyncio.wait([asyncio.wrap_future(_shielded(work.future))], timeout=seconds)
    return work.future.done()


def _shielded(future: "Future[Answer]") -> "Future[None]":
    """Done with the other; a client that leaves cancels this one."""
    own: Future[None] = Future()

    def end(_: "Future[Answer]") -> None:
        if not own.done():
            with suppress(Exception):
                own.set_result(None)

    future.add_done_callback(end)
    return own
