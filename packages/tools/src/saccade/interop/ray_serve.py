"""The same tools behind the same HTTP contract on a Ray cluster: replicas anywhere, shares of GPUs.

One front holds images, calls by id and queues, as it does for worker processes. The tools of each group are a
deployment of their own: ``serving.workers`` replicas, each with ``serving.fraction`` of a GPU.
"""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from saccade.errors import SaccadeError, missing_extra
from saccade.frames import BrokenFrameError
from saccade.services.http.app import create_app
from saccade.services.http.listening import check_reach
from saccade.services.http.service import ToolService
from saccade.services.images import ImageShelf, image_directory
from saccade.services.logs import log_as_json
from saccade.services.messages import CallRequest, ServedTool
from saccade.services.metrics import Metrics
from saccade.services.settings import GroupSettings, Serving
from saccade.services.workers.calls import QueuedCall
from saccade.services.workers.pool import Pool, stop_all
from saccade.services.workers.running import CallReply, ToolRunner, build_tools

try:
    import ray
    from ray import serve
except ImportError as error:
    raise missing_extra("ray,services", "ray", needed_for="serving on a cluster") from error

logger = logging.getLogger(__name__)

APPLICATION = "saccade-tools"

REPLACED_WITHIN_S = 60.0
"""Ray sends a call whose replica has died to another one, and waits until there is one."""


class ToolReplica:
    """The tools of one group, somewhere on the cluster."""

    def __init__(self, group: GroupSettings, builder: str, folder: Path, image_mb: int) -> None:
        self._files: Mapping[str, bytes] = {}
        tools = build_tools(builder, group.tools, folder)
        self._runner = ToolRunner(tools, fetch=lambda key: self._files.get(key), image_mb=image_mb)

    async def about(self) -> tuple[ServedTool, ...]:
        """Descriptions of the tools."""
        return self._runner.about()

    async def run(self, tool: str, requests: Sequence[CallRequest], files: Mapping[str, bytes]) -> list[CallReply]:
        """The outcomes; a call about an image that is neither known nor in ``files`` says which it misses."""
        self._files = files
        # In a thread, so that the replica can still tell that it is well.
        return await asyncio.to_thread(self._runner.run, tool, requests)


class _Replicas:
    """A ``Worker`` of a pool: one place among the calls that the replicas of a group may have at a time."""

    def __init__(self, handle: "serve.handle.DeploymentHandle", shelf: Callable[[], ImageShelf], name: str) -> None:
        self.name = name
        self.has_ended = False
        self.grace_s = REPLACED_WITHIN_S
        self._handle = handle
        self._shelf = shelf

    def when_ended(self, notify: Callable[[], object]) -> None:
        """Never: Ray replaces replicas by itself."""

    async def tools(self) -> Sequence[ServedTool]:
        try:
            told: Sequence[ServedTool] = await self._handle.about.remote()
        except ray.exceptions.RayError as error:
            raise BrokenFrameError(str(error)) from error
        return told

    async def run(self, calls: Sequence[QueuedCall]) -> list[CallReply]:
        outcomes = await self._run(calls, {})
        missing = {key for outcome in outcomes for key in outcome.missing}
        if not missing:
            return outcomes
        # Which replica has which image is not known here: those that miss some bring them along.
        files = {key: raw for key in missing if (raw := self._shelf().read(key)) is not None}
        again = [index for index, outcome in enumerate(outcomes) if outcome.missing]
        for index, outcome in zip(again, await self._run([calls[index] for index in again], files), strict=True):
            outcomes[index] = outcome
        return outcomes

    async def _run(self, calls: Sequence[QueuedCall], files: Mapping[str, bytes]) -> list[CallReply]:
        try:
            outcomes: list[CallReply] = await self._handle.run.remote(
                calls[0].tool, [call.request for call in calls], files
            )
        except ray.exceptions.RayError as error:
            raise BrokenFrameError(str(error)) from error
        return outcomes

    def kill(self) -> None:
        """A replica that hangs is Ray's to replace: it fails its health checks."""

    async def end(self) -> int:
        return 0


class ToolFront:
    """The ingress: the HTTP contract in front of the replicas."""

    def __init__(self, serving: Serving, token: str | None, handles: Mapping[str, Any]) -> None:
        log_as_json(logging.INFO)
        self._serving = serving
        self._token = token
        self._handles = handles
        self._service: ToolService | None = None

    def __serve_build_asgi_app__(self) -> FastAPI:
        return create_app(
            self._running,
            tool_names=[tool.name for group in self._serving.groups for tool in group.tools],
            token=self._token,
            settings=self._serving.server,
            lifespan=self._lifespan,
        )

    def _running(self) -> ToolService:
        assert self._service is not None
        return self._service

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        metrics = Metrics()
        pools = [
            Pool(
                group,
                self._serving,
                start=self._starting(group),
                metrics=metrics,
                on_mistake=lambda mistake: logger.error("%s", mistake),
            )
            for group in self._serving.groups
        ]
        crews = {tool.name: pool for pool in pools for tool in pool.group.tools}
        with image_directory(self._serving.server.image_mb << 20) as directory:
            self._service = ToolService(crews, self._serving.server, shelf_directory=directory, metrics=metrics)
            for pool in pools:
                pool.start()
            yield
            await stop_all(pools)

    def _starting(self, group: GroupSettings) -> "Callable[[int], Any]":
        async def start(index: int) -> _Replicas:
            return _Replicas(self._handles[group.name], lambda: self._running().shelf, f"{group.name}/{index}")

        return start


def application(serving: Serving, token: str | None = None) -> "serve.Application":
    """The Ray Serve application, for ``serve.run`` or a configuration of your own."""
    check_reach(serving.server.host, token)
    server = serving.server
    handles = {
        group.name: serve.deployment(
            name=f"tools-{group.name}",
            num_replicas=group.workers,
            max_ongoing_requests=1,
            ray_actor_options={"num_cpus": group.cpus, "num_gpus": group.fraction},
        )(ToolReplica).bind(group, server.builder, serving.folder.absolute(), server.worker_image_mb)
        for group in serving.groups
    }
    # A second front would have images and calls of its own.
    front = serve.deployment(
        name="front", num_replicas=1, max_ongoing_requests=4096, ray_actor_options={"num_cpus": 0.1}
    )(serve.ingress()(ToolFront))
    return front.bind(serving, token, handles)


def serve_on_ray(serving: Serving, token: str | None = None) -> None:
    """Deploy to the cluster of ``RAY_ADDRESS``, or to one that is started here, until SIGTERM."""
    app = application(serving, token)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    address = {"host": serving.server.host, "port": serving.server.port or _free_port(serving.server.host)}
    serve.start(http_options=address)
    try:
        serve.run(app, name=APPLICATION)
        log_as_json(logging.INFO)
        logger.info("serving", extra={"fields": address})
        ended.wait()
    except ray.exceptions.RayError as error:
        raise SaccadeError(f"Ray could not deploy the tools: {error}") from error
    finally:
        serve.shutdown()
        ray.shutdown()


def _free_port(host: str) -> int:
    """Ray's proxies, which may be on other machines, must be told a number."""
    with socket.create_server((host, 0)) as listener:
        return int(listener.getsockname()[1])
