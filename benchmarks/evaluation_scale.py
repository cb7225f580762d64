"""How long stored samples take to sum up and to compare.

    python benchmarks/evaluation_scale.py [--samples 100000] [--json FILE]

Writes two evaluations of so many samples, as `saccade eval` does, and reads, sums up and compares them. Exit status 1
when summing up takes 5 s or more, or comparing 10 s or more, of processor time.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

from saccade.evaluation.compare import compare
from saccade.evaluation.figures import figures, table
from saccade.evaluation.sample_files import read_samples, read_times, write_samples, write_times
from saccade.evaluation.samples import SampleHeader, SampleSet, SampleTimes, StoredSample
from saccade.types import Json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(temporary) / f"{name}.jsonl" for name in ("a", "b")]
        for number, path in enumerate(paths):
            write_samples(path, made(arguments.samples, number))
            write_times(path, [SampleTimes(id=str(one), sample=0, wall_s=1.5, tool_s=0.2) for one in range(10_000)])
        summed = timed(lambda: table([figures(read_samples(paths[0]), times=read_times(paths[0]))]))
        compared = timed(lambda: compare([read_samples(path) for path in paths], ["a", "b"])[0].describe())
        told: dict[str, Json] = {
            "samples": arguments.samples,
            "file_mb": round(paths[0].stat().st_size / 1e6, 1),
            "summarise": summed,
            "compare": compared,
        }
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if summed["processor_s"] < 5 and compared["processor_s"] < 10 else 1)


def timed(work: Callable[[], str]) -> dict[str, float]:
    wall_s, processor_s = time.monotonic(), time.process_time()
    said = work()
    assert said
    return {
        "processor_s": round(time.process_time() - processor_s, 2),
        "wall_s": round(time.monotonic() - wall_s, 2),
    }


def made(count: int, number: int) -> SampleSet:
    """Samples of 12 categories, four questions on each picture, some failed, with tools and errors."""
    generator = np.random.default_rng(number)
    right = generator.random(count) < 0.6 + 0.02 * number
    failed = generator.random(count) < 0.01
    samples = tuple(
        StoredSample(
            id=f"bench/{place}",
            q=hashlib.sha256(str(place).encode()).hexdigest()[:32],
            key=hashlib.sha256(f"{number} {place}".encode()).hexdigest(),
            sample=0,
            status="failed" if failed[place] else "answered",
            right=None if failed[place] else bool(right[place]),
            score=None if failed[place] else float(right[place]),
            answer="B",
            gold="ABCD"[place % 4],
            reply="<think>I look at the sign and compare the colours of both.</think><answer>B</answer>",
            family="bench",
            cluster=str(place // 4),
            buckets=(f"category {place % 12}",),
            choices=4,
            option=place % 4,
            picked=1,
            turns=1 + place % 4,
            calls={"crop": place % 4} if place % 4 else {},
            calls_ok=place % 4,
            errors=("E2",) if place % 50 == 0 else (),
            tokens_in=1200 + place % 100,
            tokens_out=80,
            images=1 + place % 4,
            pixels=(place % 9) * 500_000,
        )
        for place in range(count)
    )
    return SampleSet(header=SampleHeader(name="bench", model={"name": str(number)}, asked={}), samples=samples)


if __name__ == "__main__":
    main()
