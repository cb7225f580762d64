"""Protocols of workers: what a service asks of a group's workers, and what a group asks of each of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from saccade.services.workers.calls import QueuedCall
from saccade.services.workers.running import CallReply
from saccade.types import Json


class QueueFullError(Exception):
    """Too many calls wait; ``retry_after_s`` is when there may be room."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the queue is full; try again in {retry_after_s:.2g} s")
        self.retry_after_s = retry_after_s


class WorkerCrew(Protocol):
    """A group of workers that runs the calls of some tools: a ``Pool`` of processes, or replicas elsewhere."""

    @property
    def tools(self) -> Sequence[Mapping[str, Json]]:
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
        """What a job may take beyond its tool's deadline before the worker is held to hang."""

    def when_ended(self, notify: Callable[[], object]) -> None:
        """Call ``notify`` when it has ended."""

    async def tools(self) -> Sequence[Mapping[str, Json]]:
        """Descriptions of its tools once they are built; ``UserError``, ``BrokenFrameError``."""

    async def run(self, calls: Sequence[QueuedCall]) -> list[CallReply]:
        """The outcomes of calls of one tool; ``BrokenFrameError`` when it died over them."""

    def kill(self) -> None: ...

    async def end(self) -> int:
        """The exit status, once it has ended."""


Start = Callable[[int], Awaitable[ToolWorker]]
"""Gives a worker for the place of this number; ``OSError`` when the machine cannot."""
