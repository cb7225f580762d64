"""The process that watches vLLM's server ends all that the server left behind, and tells how the server ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from places import ROOT
from saccade.engines.vllm.server import OWNED_FOLDER

PLUGIN = ROOT / "examples" / "engine"
SERVER = """
import os, signal, subprocess, sys, time
stays = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
left = subprocess.Popen([sys.executable, "-S", "-c", stays], stdout=subprocess.PIPE)
left.stdout.readline()
{first}
print(os.getpid(), left.pid, flush=True)
{then}
time.sleep(600)
"""
DEADLINE_S = 60.0


@contextmanager
def started(
    tmp_path: Path, folder: Path, *, first: str = "", then: str = ""
) -> Iterator[tuple["subprocess.Popen[bytes]", int, int]]:
    """The watching process, the server, and a worker of the server's that SIGTERM does not end."""
    package = tmp_path / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    (package / "api_server.py").write_text(SERVER.format(first=first, then=then), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "saccade_vllm_plugin.serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PLUGIN}", OWNED_FOLDER: str(folder)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        server, worker = map(int, process.stdout.readline().split())
        yield process, server, worker


def is_there(pid: int) -> bool:
    """Whether it runs; one that nobody has waited for yet has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(*pids: int) -> bool:
    until_s = time.monotonic() + DEADLINE_S
    while any(map(is_there, pids)) and time.monotonic() < until_s:
        time.sleep(0.02)
    return not any(map(is_there, pids))


def test_when_its_owner_is_killed_the_server_its_workers_and_the_folder_go(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "w-1.safetensors").write_bytes(b"1")
    with started(tmp_path, folder) as (process, server, worker):
        assert process.stdin is not None
        process.stdin.close()  # As the kernel does for a process that was killed.
        assert gone(server, worker)
        assert process.wait(DEADLINE_S) == -signal.SIGKILL
    assert not folder.exists()


@pytest.mark.parametrize(("then", "status"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 128 + 9)])
def test_the_status_of_a_server_that_ends_is_told_and_the_folder_stays_for_the_next(
    tmp_path: Path, then: str, status: int
) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    with started(tmp_path, folder, then=then) as (process, server, worker):
        assert process.wait(DEADLINE_S) == status
        assert gone(server)
        assert is_there(worker)
        os.killpg(process.pid, signal.SIGKILL)  # As its owner does before it starts another one.
        assert gone(worker)
    assert folder.exists()


def test_a_signal_to_the_group_is_left_to_the_server(tmp_path: Path) -> None:
    first = "signal.signal(15, lambda *_: sys.exit(0))"
    with started(tmp_path, tmp_path / "none", first=first) as (process, server, worker):
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        assert gone(server)
        os.killpg(process.pid, signal.SIGKILL)
        assert gone(worker)
