"""What a call through the service costs more than the same call in this process.

    python benchmarks/services_overhead.py [--calls 2000] [--json docs/results/services_overhead.json]

One client, one server with one worker on the same machine, calls of both kinds alternating: a tool that does next to
nothing, and a crop of a picture, whose result is sent as PNG and read again. The picture itself is sent once.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from services_tools import ServedTools, build, write_tools_file

from saccade.media.store import MediaStore
from saccade.services.client import RemoteTools
from saccade.toolbox.settings import ToolSettings
from saccade.types import ImageRef, Json


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
    remote: RemoteTools,
    name: str,
    arguments: dict[str, Json],
    images: tuple[ImageRef, ...],
    media: MediaStore,
    calls: int,
) -> dict[str, object]:
    here, there = build(ToolSettings(name=name), Path()), remote.tool(name)
    assert here.call(arguments, images, media) == there.call(arguments, images, media)
    for _ in range(50):
        there.call(arguments, images, media)
    in_process: list[float] = []
    served: list[float] = []
    for _ in range(calls):
        in_process.append(milliseconds(lambda: here.call(arguments, images, media)))
        served.append(milliseconds(lambda: there.call(arguments, images, media)))
    added = [far - near for far, near in zip(served, in_process, strict=True)]
    return {"calls": calls, "in_process": spread(in_process), "service": spread(served), "overhead": spread(added)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    noise = np.random.default_rng(0).integers(0, 256, size=(768, 1024, 3), dtype=np.uint8)
    media = MediaStore()
    image = media.add(Image.fromarray(noise // 8 * 8))
    results: dict[str, object] = {"cores": len(os.sched_getaffinity(0)), "load_before": os.getloadavg()[0]}
    with ServedTools(write_tools_file(workers=1)) as served, RemoteTools(served.url) as remote:
        results["echo"] = compared(remote, "echo", {"text": "hello"}, (), media, chosen.calls)
        small: dict[str, Json] = {"bbox_2d": [100, 100, 164, 164]}
        results["crop_64_px"] = compared(remote, "crop", small, (image,), media, chosen.calls)
        large: dict[str, Json] = {"bbox_2d": [100, 100, 400, 400]}
        results["crop_300_px"] = compared(remote, "crop", large, (image,), media, chosen.calls // 4)
    results["load_after"] = os.getloadavg()[0]
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
