"""Hundreds of trajectories at the tool service while its workers are killed: is any result lost, doubled or wrong?

    python benchmarks/services_load.py [--minutes 10] [--trajectories 500] [--json docs/results/services_load.json]

Each of the trajectories, one thread each, plays one episode after another, with waiting between its turns as a model
would need it: it brings a picture of its own, crops it, crops the crop, asks for the mean colour of that, and says
something. Every result is compared with what the same tool gives in this process; what a call must tell back is new
in each call, so that another call's result cannot pass for it. Meanwhile a worker is killed (SIGKILL) every few
seconds.

``lost`` are calls begun that had no result; ``duplicated`` are results that the server made (answers with 200, less
those to calls that came again) beyond one a call. The server's stores are small, so that they are full early on, and
its memory is told over time.
"""

import argparse
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psutil
from PIL import Image
from services_tools import ServedTools, build, write_tools_file

from saccade.errors import SaccadeError
from saccade.media.store import MediaStore
from saccade.services.client.remote_tools import RemoteTools
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import Tool
from saccade.types import ImageRef, Json, ToolResult

SIDE = 96
"""Of the pictures, in pixels."""

SMALL = "queue = 512\nimage_mb = 96\nresult_mb = 48\n"


@dataclass(slots=True)
class Tally:
    """What all threads count."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        with self.lock:
            self.counts.update(counts)


class Trajectories:
    """The load: threads that play until they are told to stop."""

    def __init__(self, remote: RemoteTools, *, threads: int, think_s: float, tally: Tally) -> None:
        self._here: dict[str, Tool] = {tool.name: build(ToolSettings(name=tool.name), Path()) for tool in remote.tools}
        self._there = {tool.name: tool for tool in remote.tools}
        self._think_s = think_s
        self._tally = tally
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._play, args=(index,), daemon=True) for index in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Episodes that have begun are played to their end."""
        self._stop.set()
        for thread in self._threads:
            thread.join(300)
            self._tally.add(hanging=int(thread.is_alive()))

    def _play(self, index: int) -> None:
        chance = random.Random(index)
        pixels = np.random.default_rng(index)
        self._stop.wait(chance.uniform(0, self._think_s))
        while not self._stop.is_set():
            try:
                self._episode(chance, pixels)
                self._tally.add(trajectories=1)
            except SaccadeError as error:
                self._tally.add(failed_trajectories=1)
                with self._tally.lock:
                    self._tally.failures.append(str(error)[:300])

    def _episode(self, chance: random.Random, pixels: np.random.Generator) -> None:
        media = MediaStore(cache_bytes=1 << 20)
        small = pixels.integers(0, 256, size=(6, 6, 3), dtype=np.uint8)
        image = media.add(Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.BILINEAR))
        for _ in range(2):
            self._stop.wait(chance.uniform(0.5, 1.5) * self._think_s)
            left, top = chance.randrange(image.width // 3), chance.randrange(image.height // 3)
            box: list[Json] = [left, top, left + image.width // 2, top + image.height // 2]
            image = self._checked("crop", {"bbox_2d": box}, image, media).images[0]
        salt = chance.randrange(1 << 29)
        self._checked("mean_colour", {"salt": salt}, image, media)
        self._checked("echo", {"text": f"{salt} {chance.random()}"}, None, media)

    def _checked(self, name: str, arguments: dict[str, Json], image: ImageRef | None, media: MediaStore) -> ToolResult:
        images = () if image is None else (image,)
        expected = self._here[name].call(arguments, images, media)
        self._tally.add(begun=1)
        start = time.perf_counter()
        result = self._there[name].call(arguments, images, media)
        with self._tally.lock:
            self._tally.latencies_ms.append(1e3 * (time.perf_counter() - start))
        self._tally.add(calls=1, wrong=int(result != expected))
        return expected


def watch(pid: int, url: str, seconds: float, kill_every_s: float, tally: Tally) -> list[dict[str, float]]:
    """Kills workers now and then, and gives the memory in MiB about 30 times."""
    chance = random.Random(0)
    began = time.monotonic()
    next_kill, next_look = began + kill_every_s, began
    memory: list[dict[str, float]] = []
    server = psutil.Process(pid)
    while (now := time.monotonic()) < began + seconds:
        if now >= next_kill:
            workers = server.children()
            if workers:
                os.kill(chance.choice(workers).pid, signal.SIGKILL)
                tally.add(kills=1)
            next_kill = now + chance.uniform(0.5, 1.5) * kill_every_s
        if now >= next_look:
            memory.append({"at_s": round(now - began), "calls": tally.counts["calls"], **megabytes(server)})
            next_look = now + max(5.0, seconds / 30)
        time.sleep(0.05)
    return memory


def megabytes(server: psutil.Process) -> dict[str, float]:
    workers = 0
    for worker in server.children():
        try:
            workers += worker.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    own = psutil.Process().memory_info().rss
    return {
        "front_mib": round(server.memory_info().rss / (1 << 20), 1),
        "workers_mib": round(workers / (1 << 20), 1),
        "load_generator_mib": round(own / (1 << 20), 1),
    }


def metrics_of(url: str) -> dict[str, float]:
    """Every counter of the server, summed over its labels but for the status of requests."""
    sums: Counter[str] = Counter()
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        name, _, rest = line.rpartition(" ")[0].partition("{")
        if line.startswith("#") or "_bucket" in name or "_created" in name:
            continue
        status = rest.partition('status="')[2][:3] if name == "tool_requests_total" else ""
        sums[f"{name} {status}".strip()] += float(line.rsplit(" ", 1)[1])
    return {
        name: round(value, 3) for name, value in sorted(sums.items()) if not name.startswith(("process_", "python_"))
    }


def percentile(values: list[float], share: float) -> float:
    return round(sorted(values)[int(share * (len(values) - 1))], 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--trajectories", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--think-s", type=float, default=4.0, help="Mean time that a model would take for a turn.")
    parser.add_argument("--kill-every-s", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    threading.stack_size(1 << 20)
    tally = Tally()
    tools_file = write_tools_file(workers=chosen.workers, server=SMALL)
    with ServedTools(tools_file) as served, RemoteTools(served.url, patience_s=120) as remote:
        pid = served.pid
        load = Trajectories(remote, threads=chosen.trajectories, think_s=chosen.think_s, tally=tally)
        load_before = os.getloadavg()[0]
        began = time.monotonic()
        load.start()
        memory = watch(pid, served.url, 60 * chosen.minutes, chosen.kill_every_s, tally)
        load.stop()
        seconds = time.monotonic() - began
        metrics = metrics_of(served.url)
        workers = psutil.Process(pid).children()
    results = {
        "minutes": round(seconds / 60, 2),
        "trajectories_at_a_time": chosen.trajectories,
        "workers": chosen.workers,
        "server_settings": SMALL.split("\n")[:-1],
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(load_before, 2),
        "counts": {name: tally.counts[name] for name in COUNTED},
        "calls_per_s": round(tally.counts["calls"] / seconds, 1),
        "lost": tally.counts["begun"] - tally.counts["calls"],
        "duplicated": round(metrics.get("tool_requests_total 200", 0) - metrics.get("tool_calls_repeated_total", 0))
        - tally.counts["calls"],
        "latency_ms": {
            f"p{round(100 * share)}": percentile(tally.latencies_ms, share) for share in (0.5, 0.95, 0.99, 1)
        },
        "server": metrics,
        "left_processes": sum(worker.is_running() for worker in workers),
        "failures": tally.failures[:10],
        "memory": memory,
    }
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


COUNTED = ("trajectories", "failed_trajectories", "calls", "wrong", "kills", "hanging")

if __name__ == "__main__":
    main()
