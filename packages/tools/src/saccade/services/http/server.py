"""A server from its start to its end: workers, the HTTP front, signals."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from saccade.errors import UserError, missing_extra

# Before all that imports them too.
try:
    import uvicorn
    from fastapi import FastAPI
except ImportError as error:
    raise missing_extra("services", "fastapi, or uvicorn", needed_for="serving tools") from error

from saccade.services.http.app import create_app
from saccade.services.http.connections import protocol_within
from saccade.services.http.listening import BACKLOG, SignalledServer, check_reach, listening
from saccade.services.http.service import ToolService
from saccade.services.images import image_directory
from saccade.services.logs import log_as_json
from saccade.services.metrics import Metrics
from saccade.services.settings import Serving
from saccade.services.workers.pool import Pool, stop_all
from saccade.services.workers.process import WorkerProcess

logger = logging.getLogger(__name__)


def serve(serving: Serving, token: str | None = None) -> None:
    """Serve until SIGTERM or SIGINT, let calls that are out come to an end, and end the workers.

    ``UserError`` when it would be open to everybody, the port is taken, or a tool cannot be built.
    """
    check_reach(serving.server.host, token)
    log_as_json(logging.INFO)
    server = serving.server
    with listening(server.host, server.port) as listener, image_directory(server.image_mb << 20) as shelf:
        asyncio.run(_serve(serving, token, shelf, listener))


async def _serve(serving: Serving, token: str | None, shelf: Path, listener: socket.socket) -> None:
    metrics = Metrics()
    mistakes: list[UserError] = []

    def stop_for(mistake: UserError) -> None:
        mistakes.append(mistake)
        server.should_exit = True

    pools = [
        Pool(
            group,
            serving,
            start=partial(WorkerProcess.start, group, serving, shelf),
            metrics=metrics,
            on_mistake=stop_for,
        )
        for group in serving.groups
    ]
    crews = {tool.name: pool for pool in pools for tool in pool.group.tools}
    service = ToolService(crews, serving.server, shelf_directory=shelf, metrics=metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for pool in pools:
            pool.start()
        host, port = listener.getsockname()[:2]
        fields = {"host": host, "port": port, "pid": os.getpid(), "tools": list(crews)}
        logger.info("serving", extra={"fields": fields})
        yield
        await stop_all(pools)
        logger.info("served")

    app = create_app(lambda: service, tool_names=list(crews), token=token, settings=serving.server, lifespan=lifespan)
    config = uvicorn.Config(
        app,
        http=protocol_within(serving.server.request_s),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(serving.server.drain_s)),
        backlog=BACKLOG,
    )
    server = SignalledServer(config)
    await server.serve(sockets=[listener])
    if mistakes:
        raise mistakes[0]
