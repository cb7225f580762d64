"""Requests a second at our tool server and at verl-tool's, on a trivial tool, asked by the same client.

    python -m verl_tool.servers.tool_server --tool_type base --host 127.0.0.1 --port 5011 --workers_per_tool 1
    python benchmarks/services_peer.py --verl-tool http://127.0.0.1:5011 --verl-tool-pid PID [--json FILE]

Both are asked over open connections by as many threads, in turns of some seconds: ours for ``echo`` at one worker
process, theirs for its ``base`` tool, which gives a text made of the trajectory's name, at the server itself without
the router in front (which would be one more hop). Theirs runs the tool in a thread of the server; a tool that dies
takes the server along. ``cpu_ms`` is the processor time of all processes of a server for each request; it hardly
depends on what else the machine does, as requests a second do.
"""

import argparse
import json
import os
import statistics
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from services_tools import ServedTools, write_tools_file

Ask = Callable[[httpx.Client], None]


def ask_ours(client: httpx.Client) -> None:
    name = uuid.uuid4().hex
    body = {"arguments": {"text": name}, "call_id": name}
    answer = client.post("/tools/echo", json=body)
    assert answer.json()["text"] == name, answer.text


def ask_theirs(client: httpx.Client) -> None:
    name = uuid.uuid4().hex
    body = {"trajectory_ids": [name], "actions": [name], "extra_fields": [{"is_last_step": True}]}
    answer = client.post("/get_observation", json=body)
    assert answer.json()["observations"] == [f"Base observation for {name} in turn 0"], answer.text


def round_of(url: str, ask: Ask, *, threads: int, seconds: float) -> tuple[float, list[float]]:
    """Requests a second, and the milliseconds that each took."""
    took_ms: list[float] = []
    ends = time.perf_counter() + seconds

    def work() -> None:
        own: list[float] = []
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            while (start := time.perf_counter()) < ends:
                ask(client)
                own.append(1e3 * (time.perf_counter() - start))
        took_ms.extend(own)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(took_ms) / seconds, took_ms


@dataclass(frozen=True, slots=True)
class Side:
    """A server."""

    url: str
    pid: int
    ask: Ask

    def cpu_ms(self) -> float:
        """Of all its processes so far."""
        server = psutil.Process(self.pid)
        times = [one.cpu_times() for one in (server, *server.children(recursive=True))]
        return 1e3 * sum(one.user + one.system for one in times)


def compared(sides: dict[str, Side], *, threads: int, seconds: float, rounds: int) -> dict[str, object]:
    rates: dict[str, list[float]] = {name: [] for name in sides}
    times: dict[str, list[float]] = {name: [] for name in sides}
    cpu_ms = dict.fromkeys(sides, 0.0)
    for _ in range(rounds):
        for name, side in sides.items():
            before_ms = side.cpu_ms()
            rate, took_ms = round_of(side.url, side.ask, threads=threads, seconds=seconds)
            rates[name].append(rate)
            cpu_ms[name] += side.cpu_ms() - before_ms
            times[name] += took_ms
    return {
        name: {
            "requests_per_s": round(statistics.median(rates[name]), 1),
            "of_rounds": [round(rate, 1) for rate in rates[name]],
            "cpu_ms": round(cpu_ms[name] / len(times[name]), 3),
            "median_ms": round(statistics.median(times[name]), 2),
            "p95_ms": round(sorted(times[name])[int(0.95 * len(times[name]))], 2),
        }
        for name in sides
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verl-tool", required=True, help="Address of its server.")
    parser.add_argument("--verl-tool-pid", type=int, required=True, help="Its process.")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    results: dict[str, object] = {"cores": len(os.sched_getaffinity(0)), "load_before": round(os.getloadavg()[0], 2)}
    with ServedTools(write_tools_file(workers=1)) as served:
        sides = {
            "saccade": Side(served.url, served.pid, ask_ours),
            "verl_tool": Side(chosen.verl_tool, chosen.verl_tool_pid, ask_theirs),
        }
        for side in sides.values():
            round_of(side.url, side.ask, threads=4, seconds=1.0)
        for threads in (1, 16, 64):
            timing = {"threads": threads, "seconds": chosen.seconds, "rounds": chosen.rounds}
            found = compared(sides, threads=threads, seconds=chosen.seconds, rounds=chosen.rounds)
            results[f"threads_{threads}"] = {**timing, **found}
    results["load_after"] = round(os.getloadavg()[0], 2)
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
