"""A server of OpenEnv for ``world_overhead.py``: a small picture and a text for every lever that is pressed."""

from multiprocessing.connection import Connection
from threading import Thread
from time import sleep

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

HEIGHT_PX, WIDTH_PX = 24, 32


class Press(Action):  # type: ignore[misc]
    lever: int = Field(ge=0, le=2, description="lever from 0 to 2")


class Screen(Observation):  # type: ignore[misc]
    screen: list[int] = Field(default_factory=list)
    screen_shape: list[int] = Field(default_factory=list)
    said: str = ""


class Levers(Environment):  # type: ignore[misc]
    """Never ends."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: object) -> Screen:
        return shown("choose")

    def step(self, action: Press, timeout_s: float | None = None, **_: object) -> Screen:
        return shown(f"pressed {action.lever}")

    @property
    def state(self) -> State:
        return State()


def shown(said: str) -> Screen:
    screen = [80] * (HEIGHT_PX * WIDTH_PX * 3)
    return Screen(screen=screen, screen_shape=[HEIGHT_PX, WIDTH_PX, 3], said=said, done=False, reward=0.0)


def serve(told: Connection) -> None:
    """Sends the address of a server, and serves until the process is ended."""
    app = create_app(Levers, Press, Screen, max_concurrent_envs=4)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="websockets-sansio"))
    running = Thread(target=server.run)
    running.start()
    while not server.started:
        sleep(0.05)
    told.send(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    running.join()
