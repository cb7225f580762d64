"""Environments in a Python of their own, behind a server, and one that is killed while it is played."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import numpy as np
import pytest
import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment as OpenEnvEnvironment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from saccade.errors import MachineError, UserError
from saccade.interop.environments.bridge import BridgedSource
from saccade.interop.environments.gymnasium_world import GymnasiumSource
from saccade.interop.environments.openenv_world import OpenEnvSource
from saccade.interop.environments.sources import WorldNames
from saccade.interop.environments.world import NumberedEpisode

NAMES = WorldNames(env="gymnasium:MiniGrid-Empty-5x5-v0")
HERE = GymnasiumSource(id="MiniGrid-Empty-5x5-v0")


@pytest.fixture(scope="module")
def bridged() -> Iterator[BridgedSource]:
    with BridgedSource(names=NAMES, python=Path(sys.executable)) as source:
        yield source


def test_a_world_elsewhere_is_the_world_here(bridged: BridgedSource) -> None:
    assert (bridged.name, bridged.actions(), bridged.count("train")) == (HERE.name, HERE.actions(), None)
    with closing(bridged.make()) as there, closing(HERE.make()) as here:
        for number in (0, 5):
            assert there.reset(NumberedEpisode(number=number)).text == here.reset(NumberedEpisode(number=number)).text
            assert there.rules == here.rules
            for action in ("forward", "leap", "right", "forward"):
                far, near = there.step(action), here.step(action)
                assert [one.tobytes() for one in far.shown.pictures] == [one.tobytes() for one in near.shown.pictures]
                assert (far.reward, far.invalid, far.success) == (near.reward, near.invalid, near.success)


def test_a_process_that_is_killed_is_said_and_started_again(bridged: BridgedSource) -> None:
    with closing(bridged.make()) as world:
        world.reset(NumberedEpisode(number=0))
        [connection] = bridged._open.values()
        os.kill(connection.process_id, signal.SIGKILL)
        with pytest.raises(MachineError, match=r"environment's process \d+ was ended by SIGKILL"):
            world.step("forward")
    with closing(bridged.make()) as again:
        assert again.reset(NumberedEpisode(number=0)).pictures


def test_what_is_wrong_with_a_name_is_said_from_there() -> None:
    with pytest.raises(UserError, match="Did you mean MiniGrid-Empty-5x5-v0"):
        BridgedSource(names=WorldNames(env="gymnasium:MiniGrid-Emty-5x5-v0"), python=Path(sys.executable))


def test_a_module_on_the_users_python_path_is_found_by_another_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside_the_project.py").write_text(
        "import gymnasium\ngymnasium.register('beside/Lake-v0', entry_point="
        "'gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv')\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    names = WorldNames(env="gymnasium:beside_the_project:beside/Lake-v0")
    with BridgedSource(names=names, python=Path(sys.executable)) as source:
        assert len(source.actions()) == 4


def test_a_python_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r"environment\.python=/no/python is no file"):
        BridgedSource(names=NAMES, python=Path("/no/python"))


def test_the_process_of_another_python_needs_three_packages_alone() -> None:
    script = """
import sys
import saccade.interop.environments.host, saccade.interop.environments.verifiers_world
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.wire import result_frame
source_of(WorldNames(env="gymnasium:CartPole-v1")).make().close()
files = {name.partition(".")[0]: getattr(module, "__file__", None) or "" for name, module in [*sys.modules.items()]}
print(*sorted(name for name, file in files.items() if "site-packages" in file))
"""
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    theirs = {"cloudpickle", "farama_notifications", "typing_extensions"}  # gymnasium's own
    assert {name for name in found if not name.startswith("_")} - theirs <= {"numpy", "PIL", "gymnasium"}


class Press(Action):  # type: ignore[misc]
    """One of three levers."""

    lever: int = Field(ge=0, le=2, description="lever from 0 to 2")


class Screen(Observation):  # type: ignore[misc]
    """As emulators send it: numbers in a row, and their shape."""

    screen: list[int] = Field(default_factory=list)
    screen_shape: list[int] = Field(default_factory=list)
    said: str = ""


class Levers(OpenEnvEnvironment):  # type: ignore[misc]
    """The lever of the episode's seed pays and ends it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._right = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: object) -> Screen:
        self._right = (seed or 0) % 3
        return self._screen("choose", False, 0.0)

    def step(self, action: Press, timeout_s: float | None = None, **_: object) -> Screen:
        return self._screen(f"pressed {action.lever}", action.lever == self._right, float(action.lever == self._right))

    @property
    def state(self) -> State:
        return State()

    def _screen(self, said: str, done: bool, reward: float) -> Screen:
        pixels = np.full((24, 32, 3), 80 * self._right, np.uint8)
        return Screen(screen=pixels.ravel().tolist(), screen_shape=[24, 32, 3], said=said, done=done, reward=reward)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    app = create_app(Levers, Press, Screen, max_concurrent_envs=4)
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="websockets-sansio"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(timeout=30)


def test_a_server_of_openenv_is_played_by_its_own_schema(server: str) -> None:
    assert httpx2.get(f"{server}/health").status_code == 200
    source = OpenEnvSource(url=server)
    episode = NumberedEpisode(number=4)
    right = episode.seed(source.name) % 3
    with closing(source.make()) as world:
        shown = world.reset(episode)
        assert shown.text == "said: choose"
        assert [picture.size for picture in shown.pictures] == [(32, 24)]
        assert "lever from 0 to 2" in world.rules
        assert "no integer" in world.step("the left one").invalid
        assert "refused" in world.step("7").invalid
        wrong, paid = world.step(str((right + 1) % 3)), world.step(str(right))
    assert (wrong.reward, wrong.terminated) == (0.0, False)
    assert (paid.reward, paid.terminated, paid.shown.text) == (1.0, True, f"said: pressed {right}")
