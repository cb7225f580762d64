"""What a call through the service costs more than the same call in this process.

    python benchmarks/services_overhead.py [--calls 2000] [--json studies/services/overhead.json]

One client, one server with one worker on the same machine, calls of both kinds alternating: a tool that does next to
nothing, and crops of a picture at ever new places, whose results are sent as PNG and read again. The picture itself
is sent once. ``cpu_ms`` is the processor time of a served call at the client, in the server's front and in its worker:
it hardly depends on what else the machine does, as the medians do.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from PIL import Image
from services_tools import ServedTools, build, write_tools_file

from saccade.media.store import MediaStore
from saccade.services.client.remote_tools import RemoteTools
from saccade.tools.catalogue.settings import ToolSettings
from saccade.types import ImageRef, Json

Call = Callable[[int], dict[str, Json]]
"""The arguments of the call of this number."""


def milliseconds(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return 1e3 * (time.perf_counter() - start)


def spread(times_ms: list[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    return {
        "median_ms": round(statistics.median(ordered), 3),
        "p95_ms": round(ordered[int(0.95 * (len(ordered) - 1))], 3),
        "p99_ms": round(ordered[int(0.99 * (len(ordered) - 1))], 3),
    }


def compared(
    remote: RemoteTools, server: int, name: str, call: Call, images: tuple[ImageRef, ...], media: MediaStore, count: int
) -> dict[str, object]:
    """Both kinds alternating, each with a store of its own. ``server`` is the process of the server."""
    here, there = build(ToolSettings(name=name), Path()), remote.tool(name)
    near, far = MediaStore(), MediaStore()
    for image in images:
        near.add(media.get(image))
        far.add(media.get(image))
    in_process: list[float] = []
    served: list[float] = []
    client_s = 0.0
    before_ms = server_cpu_ms(server)
    for index in range(-50, count):
        arguments = call(index)
        took_near = milliseconds(partial(here.call, arguments, images, near))
        began_s = time.thread_time()
        took_far = milliseconds(partial(there.call, arguments, images, far))
        client_s += time.thread_time() - began_s
        if index >= 0:
            in_process.append(took_near)
            served.append(took_far)
    calls = 50 + count
    cpu_ms = {"client": round(1e3 * client_s / calls, 3)}
    for part, ms in server_cpu_ms(server).items():
        cpu_ms[part] = round((ms - before_ms[part]) / calls, 3)
    assert here.call(call(0), images, near) == there.call(call(0), images, far)
    added = [far_ms - near_ms for far_ms, near_ms in zip(served, in_process, strict=True)]
    return {
        "calls": count,
        "in_process": spread(in_process),
        "service": spread(served),
        "overhead": spread(added),
        "cpu_ms": cpu_ms,
    }


def server_cpu_ms(pid: int) -> dict[str, float]:
    """Processor time so far of a server's front and of its worker."""
    front = psutil.Process(pid)
    (worker,) = front.children()
    return {name: 1e3 * sum(one.cpu_times()[:2]) for name, one in (("front", front), ("worker", worker))}


def cropping(side: int) -> Call:
    """Another place in each call."""
    return lambda index: {"bbox_2d": [x := index % 300 + 50, x // 2, x + side, x // 2 + side]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    media = MediaStore()
    coarse = np.random.default_rng(0).integers(0, 256, size=(96, 128, 3), dtype=np.uint8)
    image = media.add(Image.fromarray(coarse).resize((1024, 768), Image.Resampling.BICUBIC))
    results: dict[str, object] = {"cores": len(os.sched_getaffinity(0)), "load_before": os.getloadavg()[0]}
    with ServedTools(write_tools_file(workers=1)) as served, RemoteTools(served.url) as remote:
        measured = partial(compared, remote, served.pid)
        results["echo"] = measured("echo", lambda index: {"text": f"hello {index}"}, (), media, chosen.calls)
        results["crop_64_px"] = measured("crop", cropping(64), (image,), media, min(300, chosen.calls))
        results["crop_300_px"] = measured("crop", cropping(300), (image,), media, min(300, chosen.calls))
    results["load_after"] = os.getloadavg()[0]
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
