"""The workers of one group of tools, the calls that wait for them, and what happens when a worker dies."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from saccade.errors import UserError
from saccade.frames import BrokenFrameError
from saccade.services.messages import ServedTool
from saccade.services.metrics import Metrics
from saccade.services.settings import GroupSettings, Serving
from saccade.services.workers.calls import QueuedCall, QueueFullError, Start, ToolWorker, failure

logger = logging.getLogger(__name__)

MAX_KILLS = 2
"""Workers that one call may cost."""

LONGEST_PAUSE_S = 30.0
"""Between two starts of a worker that keeps dying."""

STOPPING = failure(503, "stopping", "the server is stopping; try again")

ABANDONED = failure(503, "abandoned", "whoever waited for the call left before it was begun; try again")

STEADY_AFTER_S = 3.0
"""A worker that lived so long did not die of its start."""


class Pool:
    """The workers of one group and their queue; made, started and used in one event loop."""

    def __init__(
        self,
        group: GroupSettings,
        serving: Serving,
        *,
        start: Start,
        metrics: Metrics,
        on_mistake: Callable[[UserError], None],
    ) -> None:
        """``start`` gives a worker for a place; ``on_mistake`` hears of tools that no new start would mend."""
        self.group = group
        self.tools: Sequence[ServedTool] = ()
        """As the first worker told of them."""
        self._serving = serving
        self._start = start
        self._metrics = metrics
        self._on_mistake = on_mistake
        self._waiting: deque[QueuedCall] = deque()
        self._alone: deque[QueuedCall] = deque()
        """Calls that have cost a worker: each is run by itself, so that it can cost no other call a worker."""
        self._something = asyncio.Event()
        self._ready = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._took_s = 0.01
        """Duration of a call at a worker: a moving mean."""

    @property
    def is_ready(self) -> bool:
        return self._ready > 0

    @property
    def length(self) -> int:
        """Calls that wait."""
        return len(self._waiting) + len(self._alone)

    def start(self) -> None:
        """Begin to start the workers; ``is_ready`` is true once one has its tools."""
        self._tasks = [asyncio.create_task(self._keep_up(index)) for index in range(self.group.workers)]

    async def stop(self) -> None:
        """End the workers; calls that still wait fail."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for call in (*self._alone, *self._waiting):
            call.finish(STOPPING)

    def submit(self, call: QueuedCall) -> None:
        """Let the call wait for a worker; ``QueueFullError``."""
        if self.length >= self._serving.server.queue:
            self._tidy()
        if self.length >= self._serving.server.queue:
            expected_s = self.length * self._took_s / self.group.workers
            raise QueueFullError(min(5.0, max(0.05, expected_s / 2)))
        self._waiting.append(call)
        self._something.set()
        self._count_waiting()

    def _tidy(self) -> None:
        """Calls whose deadline has passed, or whose clients have left, keep no place."""
        self._waiting = deque(call for call in self._waiting if _is_wanted(call))

    def _count_waiting(self) -> None:
        self._metrics.queue_length.labels(self.group.name).set(self.length)

    async def _keep_up(self, index: int) -> None:
        """One worker after another in this place, until cancelled."""
        pause_s = 0.05
        while True:
            started_s = time.monotonic()
            reason = await self._live(index)
            self._metrics.restarts.labels(self.group.name, reason).inc()
            if time.monotonic() - started_s > STEADY_AFTER_S:
                pause_s = 0.05
            await asyncio.sleep(pause_s)
            # The first deaths may be accidents; one that keeps dying is left in peace for longer and longer.
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)

    async def _live(self, index: int) -> str:
        """The life of one worker; why it ended."""
        fields = {"group": self.group.name, "place": index}
        try:
            worker = await self._start(index)
        except OSError as error:
            logger.error("no worker can be started: %s", error, extra={"fields": fields})
            return "no_start"
        fields["worker"] = worker.name
        reason = "died"
        try:
            self.tools = await worker.tools()
            logger.info("worker ready", extra={"fields": fields})
            self._ready += 1
            self._metrics.workers_ready.labels(self.group.name).set(self._ready)
            worker.when_ended(self._something.set)
            try:
                reason = await self._work(worker)
            finally:
                self._ready -= 1
                self._metrics.workers_ready.labels(self.group.name).set(self._ready)
        except BrokenFrameError:
            reason = "died_at_start"
        except UserError as error:
            reason = "mistake"
            self._tell_of(error)
        except asyncio.CancelledError:
            reason = "stopped"
            raise
        # Whatever happens to one worker, its place is filled again.
        except Exception:
            reason = "defect"
            logger.exception("a worker was lost", extra={"fields": fields})
        finally:
            status = await asyncio.shield(worker.end())
            logger.info("worker ended", extra={"fields": {**fields, "status": status, "reason": reason}})
        return reason

    def _tell_of(self, mistake: UserError) -> None:
        # What could be built once is not the user's mistake: its files have changed since, and others still work.
        if self.tools:
            logger.error("tools cannot be built again: %s", mistake, extra={"fields": {"group": self.group.name}})
        else:
            self._on_mistake(mistake)

    async def _work(self, worker: ToolWorker) -> str:
        """Gives the worker job after job, until it dies or hangs."""
        while True:
            calls = await self._next_calls(worker)
            if not calls:
                return "died"
            for call in calls:
                call.is_running = True
            self._metrics.batch_size.labels(calls[0].tool).observe(len(calls))
            limit_s = sum(self._limit_s(call) for call in calls) + worker.grace_s
            started_s = time.monotonic()
            try:
                async with asyncio.timeout(limit_s):
                    outcomes = await worker.run(calls)
            except TimeoutError:
                worker.kill()
                self._after_a_kill(calls, f"it took longer than {limit_s:g} s", status=504, kind="deadline")
                return "hung"
            except BrokenFrameError:
                self._after_a_kill(calls, "its worker died", status=500, kind="killed")
                return "died"
            except BaseException as error:
                for call in calls:
                    is_end = isinstance(error, asyncio.CancelledError)
                    call.finish(STOPPING if is_end else failure(500, "broken", f"the call cannot be run: {error!r}"))
                worker.kill()
                raise
            self._took_s += 0.1 * ((time.monotonic() - started_s) / len(calls) - self._took_s)
            for call, outcome in zip(calls, outcomes, strict=True):
                call.is_running = False
                if outcome.missing:
                    outcome = failure(409, "missing_images", "images are not here", missing=outcome.missing)
                call.finish(outcome)

    async def _next_calls(self, worker: ToolWorker) -> list[QueuedCall]:
        """The calls of the next job; none when the worker has died meanwhile."""
        while not (calls := self._take_calls()):
            if worker.has_ended:
                return []
            self._something.clear()
            await self._something.wait()
        self._count_waiting()
        return calls

    def _take_calls(self) -> list[QueuedCall]:
        while self._alone:
            call = self._alone.popleft()
            if _is_wanted(call):
                return [call]
        while self._waiting:
            call = self._waiting.popleft()
            if _is_wanted(call):
                return [call, *self._like(call)]
        return []

    def _like(self, first: QueuedCall) -> list[QueuedCall]:
        """Others of the same tool that can be run with the first, in the order of their coming."""
        most = self._batch(first.tool) - 1
        if most <= 0 or not self._waiting:
            return []
        taken: list[QueuedCall] = []
        left: deque[QueuedCall] = deque()
        while self._waiting and len(taken) < most:
            call = self._waiting.popleft()
            if not _is_wanted(call):
                continue
            (taken if call.tool == first.tool else left).append(call)
        self._waiting.extendleft(reversed(left))
        return taken

    def _about(self, tool: str) -> ServedTool:
        return next(one for one in self.tools if one.name == tool)

    def _batch(self, tool: str) -> int:
        return self._serving.batch_of(tool) if self._about(tool).batches else 1

    def _limit_s(self, call: QueuedCall) -> float:
        """Seconds that a worker may take over this call before it is held to hang."""
        return self._about(call.tool).deadline_s

    def _after_a_kill(self, calls: Sequence[QueuedCall], why: str, *, status: int, kind: str) -> None:
        for call in calls:
            call.is_running = False
            call.kills += 1
            if call.kills >= MAX_KILLS or (len(calls) == 1 and kind == "deadline"):
                message = f"tool {call.tool}: {why}" + (f", {call.kills} times" if call.kills > 1 else "")
                call.finish(failure(status, kind, message))
            elif not call.is_done:
                self._metrics.retried.labels(call.tool).inc()
                self._alone.append(call)
        self._something.set()


def _is_wanted(call: QueuedCall) -> bool:
    """Whether somebody waits for the call. One that nobody does is over without having been run: if its client asks
    again, under the same id, it is a new call."""
    if not call.is_done and call.waiters == 0:
        call.finish(ABANDONED)
    return not call.is_done


async def stop_all(pools: Sequence[Pool]) -> None:
    """End the workers of all groups, at the same time."""
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*(pool.stop() for pool in pools))
