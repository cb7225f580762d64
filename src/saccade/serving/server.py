"""A served agent from its start to its end: the engine's thread, the HTTP front, signals."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from saccade.errors import missing_extra
from saccade.media.store import MediaStore
from saccade.services.http.connections import protocol_within
from saccade.services.http.listening import BACKLOG, SignalledServer, listening
from saccade.services.logs import log_as_json
from saccade.serving.agent import Agent
from saccade.serving.app import create_agent_app
from saccade.serving.episodes import EpisodesOfRequests
from saccade.serving.meters import AgentMeters
from saccade.serving.pictures import HeldPictures
from saccade.serving.remote import fetch_picture
from saccade.serving.settings import AgentServerSettings

try:
    import uvicorn
    from fastapi import FastAPI
except ImportError as error:
    raise missing_extra("services", "fastapi, or uvicorn", needed_for="serving an agent") from error

logger = logging.getLogger(__name__)


def serve_agent(
    agent: Agent,
    settings: AgentServerSettings,
    *,
    media: MediaStore,
    tool_names: frozenset[str],
    token: str | None = None,
    listener: socket.socket | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, and let episodes that are out come to an end.

    ``media`` is the store that the agent's model reads pictures from. A ``listener`` was opened by the caller before
    the model was loaded; without one the settings say where. ``UserError`` when the port is taken.
    """
    log_as_json(logging.INFO)
    with listener or listening(settings.host, settings.port) as bound:
        asyncio.run(_serve(agent, settings, media, tool_names, token, bound))


async def _serve(
    agent: Agent,
    settings: AgentServerSettings,
    media: MediaStore,
    tool_names: frozenset[str],
    token: str | None,
    listener: socket.socket,
) -> None:
    meters = AgentMeters(tool_names)
    agent.add_gauges(meters.gauge)
    fetch = fetch_picture(settings) if settings.allows_https else None
    episodes = EpisodesOfRequests(agent, HeldPictures(media), settings, meters, fetch)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        agent.start()
        host, port = listener.getsockname()[:2]
        fields = {"host": host, "port": port, "pid": os.getpid(), "model": settings.name, "tools": sorted(tool_names)}
        logger.info("serving", extra={"fields": fields})
        yield
        agent.close()
        episodes.close()
        logger.info("served")

    config = uvicorn.Config(
        create_agent_app(episodes, token=token, lifespan=lifespan),
        http=protocol_within(settings.request_s),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(settings.drain_s)),
        backlog=BACKLOG,
    )
    await SignalledServer(config).serve(sockets=[listener])
