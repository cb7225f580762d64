"""Tasks a second of every family of the gym, in processor seconds of one core, and memory over many tasks.

OMP_NUM_THREADS=1 python benchmarks/gym_speed.py --tasks 12 --json studies/gym/speed.json
OMP_NUM_THREADS=1 python benchmarks/gym_speed.py --families shape_counts --tasks 6 --memory 100000
OMP_NUM_THREADS=1 python benchmarks/gym_speed.py --families chart_bar molecule score form --tasks 6 --memory 5000
"""

import argparse
import json
import os
import platform
import time
from itertools import cycle, islice
from pathlib import Path

import numpy
import PIL

from saccade.gym.extras import missing_modules
from saccade.gym.registry import gym_families
from saccade.media.store import MediaStore
from saccade.tasks.procedural import generate


def seconds_per_task(name: str, tasks: int) -> float:
    """Processor seconds of a task of the training split at the usual difficulty, its pictures stored.

    Each look is drawn once before, which loads its library.
    """
    for look in gym_families()[name].renderers:
        generate(f"{name}@{look.name}", split="train", index=tasks, seed=1, media=MediaStore())
    media, start = MediaStore(), time.process_time()
    for index in range(tasks):
        generate(name, split="train", index=index, seed=1, media=media)
    return (time.process_time() - start) / tasks


def memory_mb(names: list[str], tasks: int) -> list[float]:
    """What the process holds, in MiB, after each fiftieth of so many tasks of these families in turn."""
    found = []
    for index, name in enumerate(islice(cycle(names), tasks)):
        generate(name, split="train", index=index, seed=2, media=MediaStore())
        if (index + 1) % max(1, tasks // 50) == 0:
            found.append(held_mb())
            print(f"{index + 1:8d} tasks  {found[-1]:.1f} MiB", flush=True)
    return found


def held_mb() -> float:
    """Resident memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--families", nargs="+", metavar="NAME", help="these alone; default: all that can be drawn")
    parser.add_argument("--memory", type=int, default=0, help="tasks over which memory is watched")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    every = [name for name, family in gym_families().items() if not any(map(missing_modules, family.renderers))]
    names = options.families or every
    rates = {name: round(1 / seconds_per_task(name, options.tasks), 1) for name in names}
    for name, rate in sorted(rates.items(), key=lambda pair: pair[1]):
        print(f"{rate:8.1f} tasks/s  {name}")
    result = {
        "unit": "tasks per processor second, one core",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "numpy": numpy.__version__,
        "tasks_per_family": options.tasks,
        "slowest": min(rates.values()),
        "rates": rates,
        "memory_mb": memory_mb(names, options.memory) if options.memory else [],
    }
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
