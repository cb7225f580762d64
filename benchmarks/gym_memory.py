"""Resident memory of one process that draws many tasks of all families of the gym, and its slope.

OMP_NUM_THREADS=1 python benchmarks/gym_memory.py --tasks 100000 --json docs/results/gym_memory.json

The mixture is fixed: a family's share of the tasks is its tasks per second in a file that ``gym_speed.py`` wrote; so
every family gets the same CPU time. The next task is always one of the family that is furthest behind its share.
Pictures and experts are drawn as in training, with a media store for each task. The file of results is written anew at
each reading, so a run that is ended early leaves what it saw.

The slope is that of a straight line through the means of ten equal parts of the readings after ``--warm`` tasks; its
interval is Student's for eight degrees of freedom. Means of long parts are nearly independent, single readings are not.
With ``--give-back`` a reading leaves out what the C library keeps of freed memory.
"""

import argparse
import ctypes
import heapq
import json
import os
import platform
import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from saccade.gym.extras import missing_modules
from saccade.gym.registry import gym_families
from saccade.media.store import MediaStore
from saccade.tasks.procedural import generate

PARTS, T_975_OF_8 = 10, 2.306
USUAL_RATE = 30.0
"""Tasks a second of a family that the file of rates does not have."""


def mixture(rates: Mapping[str, float]) -> Iterator[str]:
    """Names without end, each as often as its rate says, spread as evenly as whole tasks allow."""
    due = [(1 / rate, name) for name, rate in rates.items()]
    heapq.heapify(due)
    while True:
        at, name = due[0]
        yield name
        heapq.heapreplace(due, (at + 1 / rates[name], name))


def held_mib() -> float:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 2)


def slope(tasks: Sequence[int], mib: Sequence[float]) -> tuple[float, float, float] | None:
    """MiB per 10,000 tasks with the ends of its 95 % interval; None where there are fewer readings than parts."""
    if len(tasks) < PARTS:
        return None
    x = np.array([np.mean(part) for part in np.array_split(np.asarray(tasks) / 10_000, PARTS)])
    y = np.array([np.mean(part) for part in np.array_split(np.asarray(mib), PARTS)])
    spread = float(((x - x.mean()) ** 2).sum())
    rise = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    rest = y - y.mean() - rise * (x - x.mean())
    half = T_975_OF_8 * float(np.sqrt((rest**2).sum() / (PARTS - 2) / spread))
    return round(rise, 3), round(rise - half, 3), round(rise + half, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=1_000, help="tasks between two readings")
    parser.add_argument("--warm", type=int, default=20_000, help="tasks that the slope leaves out")
    parser.add_argument("--rates", type=Path, default=Path("docs/results/gym_speed_24_november.json"))
    parser.add_argument("--families", nargs="+", metavar="NAME", help="these alone; default: all that can be drawn")
    parser.add_argument("--give-back", action="store_true", help="freed memory goes back before each reading")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    known: dict[str, float] = json.loads(options.rates.read_text(encoding="utf-8"))["rates"]
    every = [name for name, family in gym_families().items() if not any(map(missing_modules, family.renderers))]
    rates = {name: known.get(name, USUAL_RATE) for name in options.families or every}
    drawn, readings = Counter[str](), list[tuple[int, float]]()
    start, cpu = time.monotonic(), time.process_time()
    for index, name in zip(range(options.tasks), mixture(rates)):
        generate(name, split="train", index=drawn[name], seed=3, media=MediaStore())
        drawn[name] += 1
        if (index + 1) % options.every:
            continue
        if options.give_back:
            ctypes.CDLL(None).malloc_trim(0)
        readings.append((index + 1, held_mib()))
        print(f"{index + 1:8d} tasks  {readings[-1][1]:.1f} MiB  {time.process_time() - cpu:.0f} s CPU", flush=True)
        late = [reading for reading in readings if reading[0] > options.warm]
        result = {
            "command": "OMP_NUM_THREADS=1 python benchmarks/gym_memory.py",
            "machine": platform.machine(),
            "python": platform.python_version(),
            "gives_back": options.give_back,
            "families": len(rates),
            "tasks": index + 1,
            "cpu_s": round(time.process_time() - cpu, 1),
            "wall_s": round(time.monotonic() - start, 1),
            "largest_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "warm_tasks": options.warm,
            "mib_per_10000_tasks": slope(*zip(*late)) if late else None,
            "drawn": dict(sorted(drawn.items())),
            "readings": readings,
        }
        options.json.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
