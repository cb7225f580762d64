"""The viewer as a process: a server, a thread that keeps the index, an end by signal."""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import cast

import uvicorn
from starlette.applications import Starlette

from saccade.services.http.listening import SignalledServer
from saccade.viewer.app.application import Added, RunsViewer, create_app
from saccade.viewer.app.door import Door
from saccade.viewer.app.early import EarlyAnswers
from saccade.viewer.app.events import Events
from saccade.viewer.app.routes import warm_up
from saccade.viewer.store.collection import Collection, cache_folder
from saccade.viewer.store.field_map import FieldMap

logger = logging.getLogger(__name__)

_WARM_UP_AFTER_S = 2.0
"""By then the first list is on the screen; what a trajectory needs is read in meanwhile."""


def serve_view(
    paths: tuple[Path, ...],
    *,
    door: Door,
    early: EarlyAnswers | None = None,
    on_ready: Callable[[], None] = lambda: None,
    add: Added | None = None,
    on_end: Callable[[], Awaitable[None]] | None = None,
    cache: Path | None = None,
    fields: FieldMap = FieldMap(),
    checkpoint: Path | None = None,
    end_within_s: float = 10.0,
) -> None:
    """Serve until SIGTERM or SIGINT. ``on_ready`` is called once it answers; ``on_end`` is awaited at last.

    ``end_within_s`` after a signal the process ends even where a thread of it waits for a disk.

    ``early`` has answered at the door until now and hands its connections over.

    UserError when a path is not there.
    """
    events = Events()
    collection = Collection(
        paths=paths, cache=cache or cache_folder(), tell=events.tell, fields=fields, checkpoint=checkpoint
    )
    viewer = RunsViewer(collection=collection, events=events, csrf=door.csrf, has_chat=add is not None)
    with door.listener:
        collection.start()
        try:
            asyncio.run(_serve(viewer, door, early, on_ready, add, on_end, end_within_s))
        finally:
            collection.close()


async def _serve(
    viewer: RunsViewer,
    door: Door,
    early: EarlyAnswers | None,
    on_ready: Callable[[], None],
    add: Added | None,
    on_end: Callable[[], Awaitable[None]] | None,
    end_within_s: float,
) -> None:
    app = create_app(viewer, host=door.host, token=door.token, add=add)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        on_ready()
        warming = threading.Timer(_WARM_UP_AFTER_S, warm_up)
        warming.daemon = True
        warming.start()
        yield
        warming.cancel()
        if on_end is not None:
            await on_end()

    app.router.lifespan_context = lifespan
    config = uvicorn.Config(
        app, ws="none", log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1, backlog=128
    )
    server = _SuccessorServer(config, early, end_within_s)
    await server.serve(sockets=[door.listener])


class _SuccessorServer(SignalledServer):
    """One that takes over the connections of those who answered before it."""

    def __init__(self, config: uvicorn.Config, early: EarlyAnswers | None, end_within_s: float) -> None:
        super().__init__(config)
        self._early = early
        self._end_within_s = end_within_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        for connection in self._early.hand_over() if self._early else ():
            await loop.connect_accepted_socket(self._protocol, connection)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        last = threading.Timer(self._end_within_s, os._exit, (128 + sig,))
        last.daemon = True
        last.start()

    def _protocol(self) -> asyncio.Protocol:
        """As uvicorn makes them for connections that it accepts itself."""
        make = cast(Callable[..., asyncio.Protocol], self.config.http_protocol_class)
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
