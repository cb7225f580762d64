"""A served agent from its start to its end: the engine's thread, the HTTP front, signals."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from saccade.media.store import MediaStore
from saccade.services.http.listening import listening, new_event_loop
from saccade.services.logs import log_as_json
from saccade.serving.agent import Agent
from saccade.serving.app import create_agent_app
from saccade.serving.episodes import EpisodesOfRequests
from saccade.serving.meters import AgentMeters
from saccade.serving.pictures import PicturesInUse
from saccade.serving.remote import PictureFetcher
from saccade.serving.served_app import ServedApp
from saccade.serving.settings import AgentServerSettings

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
    server = AgentServer(agent, settings, media=media, tool_names=tool_names, token=token)
    with (
        listener or listening(settings.host, settings.port) as bound,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        runner.run(server.run(bound))


class AgentServer(ServedApp):
    """One server: its parts, and its life from the first request to the last."""

    def __init__(
        self,
        agent: Agent,
        settings: AgentServerSettings,
        *,
        media: MediaStore,
        tool_names: frozenset[str],
        token: str | None = None,
        fetcher: PictureFetcher | None = None,
    ) -> None:
        meters = AgentMeters(tool_names)
        agent.add_gauges(meters.gauge)
        fetcher = fetcher or (PictureFetcher(settings) if settings.allows_https else None)
        self.episodes = EpisodesOfRequests(agent, PicturesInUse(media), settings, meters, fetcher)
        self._agent = agent
        self._tool_names = tool_names
        self.serve(
            create_agent_app(self.episodes, token=token, lifespan=self._lifespan),
            (settings.host, settings.port),
            request_s=settings.request_s,
            drain_s=settings.drain_s,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._agent.start()
        (host, port), name = self.address, self.episodes.settings.name
        fields = {"host": host, "port": port, "pid": os.getpid(), "model": name, "tools": sorted(self._tool_names)}
        logger.info("serving", extra={"fields": fields})
        try:
            yield
        finally:
            self._agent.close()
            await self.episodes.close()
            logger.info("served")
