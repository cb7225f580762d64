"""Starts, deaths and ends of servers and their workers."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from served import Served, wait_for

from saccade.errors import UserError
from saccade.services.http.listening import check_reach
from saccade.services.settings import serving_of
from saccade.tools.catalogue.settings import ToolSettings, ToolsFile


def worker_of(served: Served, group: str) -> int:
    lines = [line for line in served.log if line["message"] == "worker ready" and line["group"] == group]
    return int(str(lines[-1]["worker"]))


def test_a_call_whose_worker_is_killed_is_run_by_the_next_one(server: Served, tmp_path: Path) -> None:
    note = tmp_path / "runs"
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.call, "slow", seconds=0.5, note=str(note))
        wait_for(lambda: note.exists() and note.read_text() != "", "the call to run")
        os.kill(worker_of(server, "slow"), signal.SIGKILL)
        assert answer.result().json()["text"] == "slept 0.5 s"
    assert note.read_text() == "run\nrun\n"
    assert server.metric('tool_worker_restarts_total{group="slow",reason="died"}') >= 1


def test_a_call_that_kills_twice_fails_alone(server: Served, tmp_path: Path) -> None:
    once, ever = tmp_path / "once", tmp_path / "ever"
    with ThreadPoolExecutor(4) as pool:
        poison = pool.submit(server.call, "deadly", note=str(ever), deaths=99)
        others = [pool.submit(server.call, "deadly", note=str(once), deaths=0) for _ in range(3)]
        assert [one.result().json()["text"] for one in others] == ["alive after 0"] * 3
        refused = poison.result()
    assert (refused.status_code, refused.json()["error"]["kind"]) == (500, "killed")
    assert ever.read_text() == "died\ndied\n"


def test_an_idle_worker_that_dies_is_replaced(server: Served) -> None:
    worker = worker_of(server, "together")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: worker_of(server, "together") != worker, "a new worker")
    assert server.call("together", number=2).json()["text"] == "4"


def test_a_worker_that_hangs_is_replaced_and_its_call_is_a_504(server: Served) -> None:
    hung = server.call("slow", seconds=100)
    assert (hung.status_code, hung.json()["error"]["kind"]) == (504, "deadline")
    assert server.call("slow", seconds=0).status_code == 200


def test_sigterm_lets_calls_end_and_leaves_no_process(tmp_path: Path) -> None:
    note = tmp_path / "runs"
    with Served(tmp_path) as served, ThreadPoolExecutor(1) as pool:
        workers = served.workers()
        answer = pool.submit(served.call, "slow", seconds=0.5, note=str(note))
        wait_for(note.exists, "the call to run")
        served.process.send_signal(signal.SIGTERM)
        assert answer.result().json()["text"] == "slept 0.5 s"
        assert served.process.wait(30) == 0
        assert len(workers) == 4
        assert not [worker for worker in workers if worker.is_running()]


def test_the_workers_of_a_server_that_was_killed_end_by_themselves(tmp_path: Path) -> None:
    note = tmp_path / "runs"
    with Served(tmp_path) as served, ThreadPoolExecutor(1) as pool:
        workers = served.workers()
        answer = pool.submit(served.call, "slow", seconds=1.9, note=str(note))
        wait_for(note.exists, "the call to run")
        served.process.kill()
        assert isinstance(answer.exception(), httpx2.TransportError)
        wait_for(lambda: not any(worker.is_running() for worker in workers), "the workers to end")


def test_beyond_loopback_a_token_is_needed(tmp_path: Path) -> None:
    served = Served(
        tmp_path, tools="[tools.echo]\n", arguments=("--host", "0.0.0.0"), environment={"SACCADE_TOKEN": ""}
    )
    _, said = served.start().communicate(timeout=60)
    assert served.process.returncode == 2
    assert "SACCADE_TOKEN" in said


@pytest.mark.parametrize(("host", "is_open"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("::", False)])
def test_only_loopback_may_do_without_a_token(host: str, is_open: bool) -> None:
    serving = serving_of(ToolsFile(tools=(ToolSettings(name="crop"),)), {"host": host})
    check_reach(serving.server.host, "secret")
    if is_open:
        check_reach(serving.server.host, None)
    else:
        with pytest.raises(UserError, match="SACCADE_TOKEN"):
            check_reach(serving.server.host, None)


def test_a_server_with_a_token_answers_only_those_who_bring_it(tmp_path: Path) -> None:
    tools, token = "[tools.echo]\n", {"SACCADE_TOKEN": "open sesame"}
    with Served(tmp_path, tools=tools, arguments=("--host", "0.0.0.0"), environment=token) as served:
        for path in ("/tools", "/metrics", "/openapi.json", "/nothing"):
            assert httpx2.get(served.url + path).status_code == 401
            wrong = httpx2.get(served.url + path, headers={"Authorization": "Bearer open sesam"})
            assert (wrong.status_code, wrong.headers["WWW-Authenticate"]) == (401, "Bearer")
        right = {"Authorization": "Bearer open sesame"}
        assert httpx2.get(served.url + "/tools", headers=right).status_code == 200
        assert httpx2.get(served.url + "/health").status_code == 200


def test_tools_that_cannot_be_built_end_the_server_with_their_message(tmp_path: Path) -> None:
    served = Served(tmp_path, tools='[tools.echo]\nmistake = "here"\n')
    _, said = served.start().communicate(timeout=60)
    assert served.process.returncode == 2
    assert "saccade: [tools.echo] mistake='here' cannot be; leave it out" in said


def test_a_port_that_is_taken_is_the_users_mistake(server: Served, tmp_path: Path) -> None:
    second = Served(tmp_path, tools="[tools.echo]\n", arguments=("--port", str(server.port)))
    _, said = second.start().communicate(timeout=60)
    assert second.process.returncode == 2
    assert "choose another --port" in said


@pytest.mark.parametrize("module", ["http.server", "client.remote_tools", "workers.worker", "workers.running"])
def test_neither_server_nor_client_loads_torch(module: str) -> None:
    script = f"import sys, saccade.services.{module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
