"""Calls whose clients have left: those that wait are not begun, and whoever asks again has the call's one result."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from served import Served, wait_for

ONE_WORKER = '[tools.slow]\nserving = {group = "one"}\n[tools.hold]\nserving = {group = "one"}\n'


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("alone"), tools=ONE_WORKER, server="queue = 30\n") as served:
        yield served


class Client:
    """A client that has sent a call and has not read its answer yet."""

    def __init__(self, served: Served, name: str, call_id: str, **arguments: object) -> None:
        body = json.dumps({"arguments": arguments, "call_id": call_id, "deadline_s": 500})
        head = f"POST /tools/{name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._connection = socket.create_connection(("127.0.0.1", served.port), timeout=180)
        self.port = self._connection.getsockname()[1]
        self._connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def close(self) -> None:
        self._connection.close()

    def status(self) -> int:
        said = self._connection.recv(65_536)
        self._connection.close()
        return int(said.split()[1])


def leave(served: Served, *clients: Client) -> None:
    """Closes their connections; the server knows when this returns."""
    for client in clients:
        client.close()
    server, ports = psutil.Process(served.process.pid), {client.port for client in clients}
    wait_for(lambda: not ports & {one.raddr.port for one in server.net_connections() if one.raddr}, "them to leave")
    # Its loop has been round when this is answered.
    assert httpx2.get(f"{served.url}/health", timeout=180).status_code == 200


def hold(served: Served, folder: Path, call_id: str) -> tuple[Client, Path]:
    """A call that keeps the only worker until the file is there."""
    gate = folder / "gate"
    client = Client(served, "hold", call_id, gate=str(gate))
    wait_for((folder / "waits").exists, "the worker to begin")
    return client, gate


def waiting(served: Served, count: int) -> None:
    wait_for(lambda: served.metric('tool_queue_length{group="one"}') == count, f"{count} calls to wait")


def runs(note: Path) -> int:
    return len(note.read_text().splitlines()) if note.exists() else 0


def test_calls_that_nobody_waits_for_are_not_begun(alone: Served, tmp_path: Path) -> None:
    first, gate = hold(alone, tmp_path, "first")
    note = tmp_path / "abandoned"
    left = [Client(alone, "slow", f"left-{index}", seconds=0, note=str(note)) for index in range(20)]
    waiting(alone, 20)
    leave(alone, *left)
    gate.touch()
    assert first.status() == 200
    assert alone.call("slow", seconds=0).json()["text"] == "slept 0 s"
    assert runs(note) == 0
    # Whoever left one of them and comes back has it run, once.
    for _ in range(2):
        again = alone.post("slow", arguments={"seconds": 0, "note": str(note)}, call_id="left-3")
        assert again.json()["text"] == "slept 0 s"
    assert runs(note) == 1


def test_calls_that_nobody_waits_for_leave_their_places_to_others(alone: Served, tmp_path: Path) -> None:
    first, gate = hold(alone, tmp_path, "holds")
    left = [Client(alone, "slow", f"crowd-{index}", seconds=0) for index in range(30)]
    waiting(alone, 30)
    assert alone.post("slow", arguments={"seconds": 0}).json()["error"]["kind"] == "queue_full"
    leave(alone, *left)
    comer = Client(alone, "slow", "comer", seconds=0)
    waiting(alone, 1)
    gate.touch()
    assert (first.status(), comer.status()) == (200, 200)


def test_a_call_that_is_asked_again_before_its_turn_keeps_its_place(alone: Served, tmp_path: Path) -> None:
    first, gate = hold(alone, tmp_path, "kept")
    note = tmp_path / "note"
    client = Client(alone, "slow", "again", seconds=0, note=str(note))
    waiting(alone, 1)
    leave(alone, client)
    again = Client(alone, "slow", "again", seconds=0, note=str(note))
    waiting(alone, 1)
    gate.touch()
    assert (first.status(), again.status()) == (200, 200)
    assert runs(note) == 1


def test_a_call_that_runs_goes_on_for_whoever_asks_again(alone: Served, tmp_path: Path) -> None:
    first, gate = hold(alone, tmp_path, "runs")
    leave(alone, first)
    gate.touch()
    again = alone.post("hold", arguments={"gate": str(gate)}, call_id="runs", deadline_s=60)
    assert again.json()["text"] == "held"
    assert alone.metric('tool_calls_repeated_total{tool="hold"}') == 1
