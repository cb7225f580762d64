"""The service behind the HTTP contract: images, calls by id, and the pools that run them."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.media.decode import ImageLimits
from saccade.services.images import ImageShelf
from saccade.services.messages import CallRequest, ServedTool
from saccade.services.metrics import Metrics
from saccade.services.settings import ToolServerSettings
from saccade.services.workers.calls import (
    CallBook,
    CallIdReusedError,
    QueuedCall,
    QueueFullError,
    ResultGoneError,
    WorkerCrew,
    digest_of,
    failure,
)
from saccade.services.workers.running import CallReply
from saccade.types import Json

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """The answer to a call, and when to try again, where that would help."""

    outcome: CallReply
    retry_after_s: float | None = None


class ToolService:
    """Tools, images and calls of one server, in one event loop. ``crews`` are the workers of each tool by its name."""

    def __init__(
        self, crews: Mapping[str, WorkerCrew], settings: ToolServerSettings, *, shelf_directory: Path, metrics: Metrics
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        limits = ImageLimits(max_bytes=settings.max_image_mb << 20)
        self.shelf = ImageShelf(shelf_directory, capacity_bytes=settings.image_mb << 20, limits=limits)
        self._crews = crews
        self._book = CallBook(settings.result_mb << 20)
        self._decoding = asyncio.Semaphore(2)
        metrics.gauge("image_store_bytes", "Size of the image files", lambda: self.shelf.held_bytes)
        metrics.gauge("image_store_images", "Images", lambda: self.shelf.count)
        metrics.gauge("result_store_bytes", "Size of results kept for repeated calls", lambda: self._book.kept_bytes)

    @property
    def is_ready(self) -> bool:
        """Whether every tool has a worker."""
        return all(crew.is_ready for crew in self._crews.values())

    @property
    def not_ready(self) -> list[str]:
        """The tools that have none."""
        return [name for name, crew in self._crews.items() if not crew.is_ready]

    @property
    def tool_names(self) -> list[str]:
        return list(self._crews)

    def tools(self) -> tuple[ServedTool, ...]:
        """All tools that are known so far, in the configuration's order."""
        about = {one.name: one for crew in self._crews.values() for one in crew.tools}
        return tuple(about[name] for name in self._crews if name in about)

    async def add_image(self, raw: bytes, expected: str | None = None) -> tuple[str, int, int]:
        """Hash, width and height; ``MediaError``."""
        # Few at a time: a decoded picture is far larger than its file.
        async with self._decoding:
            image = await asyncio.to_thread(self.shelf.add, raw, expected)
        return image.hash, image.width, image.height

    async def call(
        self, name: str, *, arguments: Mapping[str, Json], images: Sequence[str], call_id: str, deadline_s: float | None
    ) -> Reply:
        """The answer to a call; a call of the same id that is out or done is not run again."""
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        reply = await self._answer_call(
            name, CallRequest(arguments=arguments, images=tuple(images)), call_id, deadline_s
        )
        took_s = loop.time() - started_s
        status = reply.outcome.status
        tool = name if name in self._crews else "unknown"
        self.metrics.requests.labels(tool, str(status)).inc()
        self.metrics.latency.labels(tool).observe(took_s)
        if self.settings.log == "calls" or status >= 500:
            fields = {"tool": name, "status": status, "ms": round(1e3 * took_s, 2), "call": call_id}
            logger.log(logging.WARNING if status >= 500 else logging.INFO, "call", extra={"fields": fields})
        return reply

    async def _answer_call(self, name: str, request: CallRequest, call_id: str, deadline_s: float | None) -> Reply:
        crew = self._crews.get(name)
        if crew is None:
            known = ", ".join(self._crews)
            return Reply(outcome=failure(404, "no_tool", f"there is no tool {name[:80]!r}; the tools are {known}"))
        within_s = min(deadline_s or self.settings.max_deadline_s, self.settings.max_deadline_s)
        try:
            digest = digest_of(name, request.arguments, request.images)
        except RecursionError:
            return Reply(outcome=failure(422, "request", "the arguments are nested too deeply"))
        try:
            known_call = self._book.find(call_id, digest)
        except CallIdReusedError:
            return Reply(outcome=failure(409, "call_id", f"another call had the id {call_id}; each call has its own"))
        except ResultGoneError:
            return Reply(outcome=failure(410, "gone", f"the call {call_id} was run and its result is no longer kept"))
        if known_call is not None:
            self.metrics.repeated.labels(name).inc()
        if isinstance(known_call, CallReply):
            return Reply(outcome=known_call)
        ends_s = asyncio.get_running_loop().time() + within_s
        if known_call is not None:
            known_call.deadline_s = max(known_call.deadline_s, ends_s)
            return await self._await_outcome(known_call, ends_s, within_s)
        missing = self.shelf.hold(request.images)
        if missing:
            return Reply(outcome=failure(409, "missing_images", "send these images first", missing=tuple(missing)))
        call = QueuedCall(
            tool=name,
            request=request,
            id=call_id,
            digest=digest,
            outcome=asyncio.get_running_loop().create_future(),
            deadline_s=ends_s,
        )
        # Before the book's, which keeps the result without its pictures.
        call.outcome.add_done_callback(lambda _: self._settle(call))
        self._book.open(call)
        try:
            crew.submit(call)
        except QueueFullError as error:
            call.finish(failure(429, "queue_full", str(error), retry_after_s=error.retry_after_s))
            return Reply(outcome=await call.outcome, retry_after_s=error.retry_after_s)
        return await self._await_outcome(call, ends_s, within_s)

    async def _await_outcome(self, call: QueuedCall, ends_s: float, within_s: float) -> Reply:
        call.waiters += 1
        try:
            async with asyncio.timeout_at(ends_s):
                # Others may wait for the same call, and its result is kept for those that ask again.
                outcome = await asyncio.shield(call.outcome)
        except TimeoutError:
            late = failure(504, "deadline", f"tool {call.tool} gave no result within {within_s:g} s")
            if not call.is_running and asyncio.get_running_loop().time() >= call.deadline_s:
                call.finish(late)
            return Reply(outcome=late)
        finally:
            call.waiters -= 1
        return Reply(outcome=outcome, retry_after_s=1.0 if outcome.status == 503 else None)

    def _settle(self, call: QueuedCall) -> None:
        if not call.outcome.cancelled():
            for key, png in call.outcome.result().pictures:
                # The model's next call may be about them.
                self.shelf.add_known(key, png)
        self.shelf.release(call.request.images)
