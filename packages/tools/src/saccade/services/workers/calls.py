"""Calls at the server, and the protocols of the workers that run them; a call sent twice is run once."""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from saccade.services.messages import CallRequest, ServedTool
from saccade.services.refusals import error_bytes
from saccade.services.workers.running import CallReply
from saccade.types import Json

REMEMBERED_IDS = 100_000
"""Calls of which it is known that they were run, also when their results were too many to be kept."""


class CallIdReusedError(Exception):
    """Another call had this id."""


class ResultGoneError(Exception):
    """The call was run and has had its result, which is kept no more."""


def failure(
    status: int, kind: str, message: str, *, missing: tuple[str, ...] = (), retry_after_s: float | None = None
) -> CallReply:
    """An outcome that is no result."""
    body = error_bytes(kind, message, missing, retry_after_s=retry_after_s)
    return CallReply(status=status, body=body, missing=missing)


@dataclass(slots=True, eq=False)
class QueuedCall:
    """One call from its acceptance to its outcome."""

    tool: str
    request: CallRequest
    id: str
    digest: bytes
    outcome: "asyncio.Future[CallReply]" = field(repr=False)
    deadline_s: float = 0.0
    """On the event loop's clock."""
    kills: int = 0
    """Workers that died or hung while they ran it."""
    is_running: bool = False
    waiters: int = 0
    """Requests that wait for the outcome; a call whose clients have all left is not begun."""

    @property
    def is_done(self) -> bool:
        return self.outcome.done()

    def finish(self, outcome: CallReply) -> None:
        """The first outcome counts."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


def digest_of(tool: str, arguments: Mapping[str, Json], images: tuple[str, ...]) -> bytes:
    """Hash of what a call asks for."""
    content = json.dumps([tool, arguments, images], sort_keys=True)
    return hashlib.blake2b(content.encode("ascii"), digest_size=16).digest()


class CallBook:
    """The calls by id: those that are out, and results for those that may be asked for again."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._bytes = 0
        self._out: dict[str, QueuedCall] = {}
        self._results: OrderedDict[str, tuple[bytes, CallReply]] = OrderedDict()
        self._forgotten: OrderedDict[str, bytes] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def find(self, call_id: str, digest: bytes) -> QueuedCall | CallReply | None:
        """The call of this id that is out, or what it gave; ``CallIdReusedError``, ``ResultGoneError``."""
        call = self._out.get(call_id)
        if call is not None:
            _check_same(call.digest, digest)
            return call
        if call_id in self._results:
            known, outcome = self._results[call_id]
            _check_same(known, digest)
            return outcome
        if call_id in self._forgotten:
            _check_same(self._forgotten[call_id], digest)
            raise ResultGoneError
        return None

    def open(self, call: QueuedCall) -> None:
        """From now on the call is out."""
        self._out[call.id] = call
        call.outcome.add_done_callback(lambda future: self._close(call, future))

    def _close(self, call: QueuedCall, future: "asyncio.Future[CallReply]") -> None:
        del self._out[call.id]
        if future.cancelled():
            return
        outcome = future.result()
        # Only a result is final. What failed may be tried again under the same id.
        if outcome.status != 200:
            return
        self._results[call.id] = (call.digest, replace(outcome, pictures=()))
        self._bytes += len(outcome.body)
        while self._bytes > self._capacity_bytes and len(self._results) > 1:
            self._forget_oldest()
        if len(self._results) > REMEMBERED_IDS:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        call_id, (digest, outcome) = self._results.popitem(last=False)
        self._bytes -= len(outcome.body)
        self._forgotten[call_id] = digest
        if len(self._forgotten) > REMEMBERED_IDS:
            self._forgotten.popitem(last=False)


def _check_same(known: bytes, digest: bytes) -> None:
    if known != digest:
        raise CallIdReusedError


class QueueFullError(Exception):
    """Too many calls wait; ``retry_after_s`` is when there may be room."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the queue is full; try again in {retry_after_s:.2g} s")
        self.retry_after_s = retry_after_s


class WorkerCrew(Protocol):
    """A group of workers that runs the calls of some tools: a ``Pool`` of processes, or replicas elsewhere."""

    @property
    def tools(self) -> Sequence[ServedTool]:
        """Descriptions of the tools; empty before they are known."""

    @property
    def is_ready(self) -> bool: ...

    @property
    def length(self) -> int:
        """Calls that wait."""

    def submit(self, call: QueuedCall) -> None:
        """Finish the call some time; ``QueueFullError``."""


class ToolWorker(Protocol):
    """A worker that runs calls, one job at a time: a process here, or a replica elsewhere."""

    @property
    def name(self) -> str | int: ...

    @property
    def has_ended(self) -> bool: ...

    @property
    def grace_s(self) -> float:
        """Seconds that a job may take beyond its tool's deadline before the worker is held to hang."""

    def when_ended(self, notify: Callable[[], object]) -> None:
        """Call ``notify`` when it has ended."""

    async def tools(self) -> Sequence[ServedTool]:
        """Descriptions of its tools once they are built; ``UserError``, ``BrokenFrameError``."""

    async def run(self, calls: Sequence[QueuedCall]) -> list[CallReply]:
        """The outcomes of calls of one tool; ``BrokenFrameError`` when it died over them."""

    def kill(self) -> None: ...

    async def end(self) -> int:
        """The exit status, once it has ended."""


Start = Callable[[int], Awaitable[ToolWorker]]
"""Gives a worker for the place of this number; ``OSError`` when the machine cannot."""
