"""What docs/interop.md shows runs as it stands there."""

import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from click.testing import CliRunner
from trl_small import write_parts

from places import ROOT
from saccade.cli.commands import saccade
from saccade.interop.openenv.server import openenv_app
from saccade.testing import TINY_VIEW
from warm import run_warm

PAGE = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8")
SERVER, CLIENT, VECTOR, OPENENV, TRL = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def printed(code: str) -> list[str]:
    done = run_warm([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


@pytest.fixture
def openenv_port() -> Iterator[int]:
    config = uvicorn.Config(
        openenv_app(family="counting", view=TINY_VIEW),
        host="127.0.0.1",
        port=0,
        log_level="error",
        ws="websockets-sansio",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield int(server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    thread.join(timeout=120)


def test_server_is_called_by_the_official_client() -> None:
    first, second = printed(SERVER)
    assert first == "the region, 32 x 24 px of the original"
    assert second == "the argument bbox_2d is missing; it is a box [x1, y1, x2, y2] of four numbers"
    for line in (first, second):
        assert line in " ".join(PAGE.split())


def test_tools_of_a_server_are_used_in_an_episode() -> None:
    (line,) = printed(CLIENT)
    assert line.startswith("Image 2: the region,")


def test_vector_environment_steps() -> None:
    assert printed(VECTOR) == ["[True, True, True, True] 4"]


def test_openenv_client_plays_an_episode(openenv_port: int) -> None:
    assert "8402" in OPENENV
    first, second = printed(OPENENV.replace("8402", str(openenv_port)))
    assert first == "['system', 'user'] (64, 64)"
    assert second == "True True answered"


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_trl_trains_a_step(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(compile(TRL, "docs/interop.md", "exec"), names)
    model, processor = write_parts(tmp_path, say=lambda row, turn: f"<answer>{row + turn}</answer>")
    trainer = names["trainer"](model, processor, str(tmp_path / "out"))  # type: ignore[operator]
    trainer.train()
    assert trainer.state.log_history[0]["rewards/answer_score/mean"] in (0.0, 0.25, 0.5, 0.75, 1.0)


def test_every_command_and_option_that_it_names_exists() -> None:
    for line in re.findall(r"^    saccade (.*)$", PAGE, flags=re.MULTILINE):
        command, *words = line.partition("#")[0].split()
        help_text = CliRunner().invoke(saccade, [command, "--help"]).output
        for word in words:
            assert not word.startswith("--") or word in help_text, (command, word)
    for target in re.findall(r"`((?:docs|tests|benchmarks)/[^`]+)`", PAGE):
        assert (ROOT / target).exists(), target
