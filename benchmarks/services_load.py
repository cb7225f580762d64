"""Hundreds of trajectories at the tool service while its workers are killed: is any result lost, doubled or wrong?

    python benchmarks/services_load.py [--minutes 10] [--trajectories 500] [--json docs/results/services_load.json]
    python benchmarks/services_load.py --catalogue examples/tools.toml --think-s 120 --kill-every-s 30 --patience-s 600

Each of the trajectories, one thread each, plays one episode after another, with waiting between its turns as a model
would need it: it brings a picture of its own, crops it, crops the crop, asks for the mean colour of that, and says
something. Every result is compared with what the same tool gives in this process; what a call must tell back is new
in each call, so that another call's result cannot pass for it. Meanwhile a worker is killed (SIGKILL) every few
seconds. With ``--catalogue`` the tools are those of a configuration, in the groups of a server's defaults: the two
crops are followed by a tool that is drawn, called as its example says. Times are told by group.

``lost`` are calls begun that had no result; ``duplicated`` are results that the server made (answers with 200, less
those to calls that came again) beyond one a call. The server's stores are small, so that they are full early on, and
its memory is told over time.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
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
from saccade.services.settings import SHARED, serving_of
from saccade.testing.tiny_specialists import example_picture
from saccade.tools.catalogue.catalogue import entry_of, toolset
from saccade.tools.catalogue.settings import ToolSettings, read_tools_file
from saccade.types import ImageRef, Json, ToolResult

SIDE = 96
"""Of the pictures, in pixels."""

SMALL = "queue = 512\nimage_mb = 96\nresult_mb = 48\n"


@dataclass(slots=True)
class Tally:
    """What all threads count."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    """By what shares workers."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        with self.lock:
            self.counts.update(counts)


@dataclass(frozen=True, slots=True)
class Sample:
    """A call of a tool of the catalogue, and what it gives in this process."""

    name: str
    group: str
    arguments: Mapping[str, Json]
    picture: Image.Image
    expected: ToolResult


def samples_of(tools_file: Path) -> list[Sample]:
    """The example of every tool of a configuration."""
    file = read_tools_file(tools_file)
    groups = {tool.name: group.name for group in serving_of(file).groups for tool in group.tools}
    samples = []
    for tool in toolset(file).ready:
        entry, media = entry_of(tool.name), MediaStore()
        picture = example_picture(entry)
        expected = tool.call(entry.example, (media.add(picture),), media)
        samples.append(Sample(tool.name, groups[tool.name], entry.example, picture, expected))
    return samples


class Trajectories:
    """The load: threads that play until they are told to stop."""

    def __init__(
        self, remote: RemoteTools, *, samples: Sequence[Sample], threads: int, think_s: float, tally: Tally
    ) -> None:
        known = ("crop", "mean_colour", "echo")
        self._here = {name: build(ToolSettings(name=name), Path()) for name in known}
        self._there = {tool.name: tool for tool in remote.tools}
        self._samples = samples
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
        self._stop.wait(chance.uniform(0.5, 1.5) * self._think_s if self._samples else 0)
        if self._samples:
            sample = chance.choice(self._samples)
            images = (media.add(sample.picture),)
            self._compared(sample.name, sample.group, sample.arguments, images, media, sample.expected)
            return
        salt = chance.randrange(1 << 29)
        self._checked("mean_colour", {"salt": salt}, image, media)
        self._checked("echo", {"text": f"{salt} {chance.random()}"}, None, media)

    def _checked(self, name: str, arguments: dict[str, Json], image: ImageRef | None, media: MediaStore) -> ToolResult:
        images = () if image is None else (image,)
        expected = self._here[name].call(arguments, images, media)
        self._compared(name, SHARED, arguments, images, media, expected)
        return expected

    def _compared(
        self,
        name: str,
        group: str,
        arguments: Mapping[str, Json],
        images: Sequence[ImageRef],
        media: MediaStore,
        expected: ToolResult,
    ) -> None:
        self._tally.add(begun=1)
        start = time.perf_counter()
        result = self._there[name].call(arguments, images, media)
        with self._tally.lock:
            self._tally.latencies_ms.setdefault(group, []).append(1e3 * (time.perf_counter() - start))
        self._tally.add(calls=1, wrong=int(result != expected))


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
    for worker in server.children(recursive=True):
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


def percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        f"p{round(100 * share)}": round(ordered[int(share * (len(values) - 1))], 1) for share in (0.5, 0.95, 0.99, 1)
    }


def catalogue_file(tools_file: Path) -> Path:
    """The tools of a configuration under settings like those of the other load, in a temporary file."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.write(f'[server]\nport = 0\nlog = "events"\n{SMALL}{tools_file.read_text()}')
    return Path(file.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--trajectories", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--think-s", type=float, default=4.0, help="Mean time that a model would take for a turn.")
    parser.add_argument("--kill-every-s", type=float, default=5.0)
    parser.add_argument("--patience-s", type=float, default=120.0)
    parser.add_argument("--catalogue", type=Path, help="Configuration whose tools are served.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    tally = Tally()
    samples = samples_of(chosen.catalogue) if chosen.catalogue else []
    threading.stack_size(1 << 20)
    tools_file = catalogue_file(chosen.catalogue) if samples else write_tools_file(workers=chosen.workers, server=SMALL)
    with ServedTools(tools_file) as served, RemoteTools(served.url, patience_s=chosen.patience_s) as remote:
        pid = served.pid
        load = Trajectories(remote, samples=samples, threads=chosen.trajectories, think_s=chosen.think_s, tally=tally)
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
        "tools": len(samples) or 3,
        "workers": len(workers),
        "think_s": chosen.think_s,
        "nice": os.nice(0),
        "server_settings": SMALL.split("\n")[:-1],
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(load_before, 2),
        "counts": {name: tally.counts[name] for name in COUNTED},
        "calls_per_s": round(tally.counts["calls"] / seconds, 1),
        "lost": tally.counts["begun"] - tally.counts["calls"],
        "duplicated": round(metrics.get("tool_requests_total 200", 0) - metrics.get("tool_calls_repeated_total", 0))
        - tally.counts["calls"],
        "latency_ms": {group: percentiles(times) for group, times in tally.latencies_ms.items()},
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
