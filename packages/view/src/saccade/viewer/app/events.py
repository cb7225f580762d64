"""Server-sent events: what the collection's thread tells, handed to every page that listens."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from saccade.types import Json

MAX_LISTENERS = 64
_QUEUE = 256
_QUIET_S = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Listener:
    """One page; ``run`` is the run that it shows, None for all."""

    run: str | None
    loop: asyncio.AbstractEventLoop
    queue: "asyncio.Queue[tuple[str, Mapping[str, Json]]]"

    def put(self, event: str, told: Mapping[str, Json]) -> None:
        if self.queue.full():
            # A page that does not read: it asks anew when it does, so the oldest may go.
            self.queue.get_nowait()
        self.queue.put_nowait((event, told))


@dataclass(kw_only=True)
class Events:
    """``tell`` may be called from any thread."""

    _listeners: list[Listener] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, event: str, told: Mapping[str, Json]) -> None:
        with self._lock:
            listeners = [one for one in self._listeners if one.run in (None, told.get("run"))]
        for one in listeners:
            # The loop may have ended between the two.
            if not one.loop.is_closed():
                one.loop.call_soon_threadsafe(one.put, event, told)

    @property
    def is_full(self) -> bool:
        return len(self._listeners) >= MAX_LISTENERS

    async def stream(self, run: str | None) -> AsyncIterator[bytes]:
        """The events as they come, with a comment where nothing does, until the page is closed."""
        listener = Listener(run=run, loop=asyncio.get_running_loop(), queue=asyncio.Queue(_QUEUE))
        with self._lock:
            self._listeners.append(listener)
        try:
            yield b": welcome\n\n"
            while True:
                try:
                    event, told = await asyncio.wait_for(listener.queue.get(), _QUIET_S)
                except TimeoutError:
                    yield b": quiet\n\n"
                    continue
                yield event_bytes(event, told)
        finally:
            with self._lock:
                self._listeners.remove(listener)


def event_bytes(event: str, told: Mapping[str, Json]) -> bytes:
    return f"event: {event}\ndata: {json.dumps(told, allow_nan=False)}\n\n".encode("ascii")
