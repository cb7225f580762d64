"""``saccade mcp`` and ``saccade openenv`` as their users start them."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.interop.openenv.client import SaccadeEnvClient


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["openenv"], "give either --data PATH or --family NAME"),
        (["openenv", "--family", "counting", "--data", "x"], "give either --data PATH or --family NAME"),
        (["openenv", "--data", "no-such-file"], "there is no such file or folder"),
        (["mcp", "--http", "--host", "0.0.0.0", "--token-env", "NO_SUCH_TOKEN"], "give a token"),
        (["mcp", "--images", "no-such-folder"], "is not there"),
        (["mcp", "no-such-file.toml"], "cannot read the tools file"),
    ],
)
def test_mistakes_are_told_before_anything_is_served(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 2
    assert message in capsys.readouterr().err


def test_tools_that_cannot_be_made_are_named_and_without_any_nothing_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools.toml").write_text("[tools.detect_objects]\n")
    assert run_command(["mcp", str(tmp_path / "tools.toml")]) == 2
    told = capsys.readouterr().err
    assert "detect_objects is left out" in told
    assert "no tool of" in told


def test_own_tasks_are_served_until_sigterm(tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "red").save(tmp_path / "red.png")
    row = {"id": "red", "question": "Which colour?", "answer": "red", "image": "red.png"}
    (tmp_path / "my.jsonl").write_text(json.dumps(row) + "\n")
    port = free_port()
    command = [sys.executable, "-m", "saccade", "openenv", "--data", str(tmp_path / "my.jsonl"), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().endswith("my.jsonl: 1 rows: 1 exact\n")
            assert process.stderr.readline() == f"saccade: environment at http://127.0.0.1:{port}\n"
            with connected(port) as client:
                assert client.reset(task_id="red").observation.task_id == "red"
                assert client.step("<think>so</think><answer>red</answer>").reward == 1.0
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def connected(port: int) -> SaccadeEnvClient:
    for _ in range(400):
        try:
            return SaccadeEnvClient(f"http://127.0.0.1:{port}").connect()
        except ConnectionError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")
