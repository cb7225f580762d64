"""The viewer as a process: one port, a thread that keeps the index, an end by signal."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from saccade.errors import UserError, missing_extra
from saccade.services.http.guards import is_loopback
from saccade.viewer.store.collection import Collection, cache_folder
from saccade.viewer.store.field_map import FieldMap

try:
    import uvicorn
    from starlette.applications import Starlette
except ImportError as error:
    raise missing_extra("view", "starlette, or uvicorn", needed_for="the viewer") from error

from saccade.viewer.app.application import Added, RunsViewer, create_app
from saccade.viewer.app.events import Events
from saccade.viewer.app.routes import warm_up

logger = logging.getLogger(__name__)

DEFAULT_PORT = 7860
_WARM_UP_AFTER_S = 1.0
"""By then the first list has been asked for; what a trajectory needs is read in meanwhile."""


class _ViewerServer(uvicorn.Server):
    """One that ends with its open event streams: a page that listens would keep it alive for good."""

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


def serve_view(
    paths: tuple[Path, ...],
    *,
    host: str,
    port: int | None,
    token: str | None,
    on_ready: Callable[[str], None],
    add: Added | None = None,
    on_end: Callable[[], Awaitable[None]] | None = None,
    cache: Path | None = None,
    fields: FieldMap = FieldMap(),
) -> None:
    """Serve until SIGTERM or SIGINT. ``on_ready`` is told the address once it answers; ``on_end`` is awaited at last.

    UserError when others could reach it and it has no token, when the port is taken, or a path is not there.
    """
    if not is_loopback(host) and not token:
        raise UserError(
            f"--host {host} can be reached from other machines and there is no token; set one in the environment and "
            "name its variable with --token-env, or stay on 127.0.0.1"
        )
    events = Events()
    collection = Collection(paths=paths, cache=cache or cache_folder(), tell=events.tell, fields=fields)
    viewer = RunsViewer(collection=collection, events=events, has_chat=add is not None)
    listener = _listening(host, port)
    with listener:
        collection.start()
        try:
            asyncio.run(_serve(viewer, listener, host, token, on_ready, add, on_end))
        finally:
            collection.close()


async def _serve(
    viewer: RunsViewer,
    listener: socket.socket,
    host: str,
    token: str | None,
    on_ready: Callable[[str], None],
    add: Added | None,
    on_end: Callable[[], Awaitable[None]] | None,
) -> None:
    app = create_app(viewer, host=host, token=token, add=add)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        name = f"[{host}]" if ":" in host else host
        on_ready(f"http://{name}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else ""))
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
    server = _ViewerServer(config)
    await server.serve(sockets=[listener])


def _listening(host: str, port: int | None) -> socket.socket:
    """The port that was asked for; without one the usual one, or any that is free."""
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UserError(f"--host {host} is no address of this machine: {error}") from error
    problem: OSError | None = None
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            problem = error
    assert problem is not None
    raise UserError(f"cannot listen on {host}:{port}: {problem.strerror}; choose another --port")


def token_from(variable: str | None) -> str | None:
    """The token in an environment variable. UserError where it is empty."""
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if len(token) < 16:
        raise UserError(f"the environment variable {variable} holds no token of 16 characters or more; set it first")
    return token
