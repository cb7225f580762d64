"""A server from its start to its end: workers, the HTTP front, signals."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from saccade.errors import UserError, missing_extra
from saccade.services.http.app import create_app
from saccade.services.http.connections import protocol_within
from saccade.services.http.service import ToolService
from saccade.services.images import image_directory
from saccade.services.logs import log_as_json
from saccade.services.metrics import Metrics
from saccade.services.settings import Serving
from saccade.services.workers.pool import Pool, stop_all
from saccade.services.workers.process import WorkerProcess

try:
    import uvicorn
    from fastapi import FastAPI
except ImportError as error:
    raise missing_extra("services", "fastapi, or uvicorn", needed_for="serving tools") from error

logger = logging.getLogger(__name__)


BACKLOG = 2048
"""Connections that may wait to be accepted."""


class _ToolServer(uvicorn.Server):
    """One whose signals end it and no more: uvicorn raises them again, before workers and files are cleared away."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def check_reach(serving: Serving, token: str | None) -> None:
    """``UserError`` when others could reach the server and it would ask for no token."""
    if not serving.server.is_loopback and not token:
        raise UserError(
            f"host={serving.server.host!r} can be reached from other machines and there is no token; set "
            "SACCADE_TOKEN to a long random text, or serve on 127.0.0.1"
        )


def serve(serving: Serving, token: str | None = None) -> None:
    """Serve until SIGTERM or SIGINT, let calls that are out come to an end, and end the workers.

    ``UserError`` when it would be open to everybody, the port is taken, or a tool cannot be built.
    """
    check_reach(serving, token)
    log_as_json(logging.INFO)
    with _listening(serving) as listener, image_directory(serving.server.image_mb << 20) as shelf:
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

    app = create_app(
        lambda: service,
        tool_names=list(crews),
        token=token,
        settings=serving.server,
        lifespan=lifespan,
    )
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
    server = _ToolServer(config)
    await server.serve(sockets=[listener])
    if mistakes:
        raise mistakes[0]


def _listening(serving: Serving) -> socket.socket:
    """Before any worker is started, so that a port that is taken costs nothing."""
    host, port = serving.server.host, serving.server.port
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UserError(f"host={host!r} is no address of this machine: {error}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # A burst of small answers must not wait for the client's acknowledgements.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
        # From here on connections only wait: the log names the port before the first request is taken.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UserError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    return listener
