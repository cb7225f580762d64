"""Whether a run grows while it lasts: memory, processes, descriptors and temporary files, sampled from outside.

    python benchmarks/soak.py --minutes 30 [--warm-up 5] [--json FILE] -- saccade train codedance:tiny --out runs/soak

Starts the command, samples its whole process tree every ten seconds, stops it after the given time with
SIGTERM, and compares the first and the last third after the warm-up: the means of memory and files, and the lowest
numbers of descriptors, threads and processes, of which a run has more or fewer as the policy happens to call for
sessions, and between two steps always the same. Says what was left behind. Exit status 1 when something grew by more
than 5 % (and more than 2 descriptors, processes or files; 32 MiB). `--again FILE` judges recorded samples.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

EVERY_S = 10.0
ALLOWED_SHARE = 0.05
ALLOWED = {"tree_pss_mib": 32.0, "trainer_rss_mib": 32.0}
ALLOWED_COUNT = 2.0
COMES_AND_GOES = ("trainer_threads", "trainer_descriptors", "tree_processes", "tree_zombies")
NOT_OURS = ("torchinductor_",)
"""Beginnings of names that libraries leave in the temporary folder on purpose, as caches for the next process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    seconds: float
    trainer_rss_mib: float
    trainer_threads: int
    trainer_descriptors: int
    tree_pss_mib: float
    tree_processes: int
    tree_zombies: int
    temporary_files: int
    """In the temporary folder and in /dev/shm, folders counted too."""
    shared_memory_mib: float
    """Of the whole machine: files in memory, which no process owns, are in it."""


def tree(root: int) -> dict[int, str]:
    """Process id to state of the process and all below it, in whatever pid namespace."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            parents[int(entry.name)] = (int(parent), state)
    found = {root: parents[root][1]} if root in parents else {}
    grown = True
    while grown:
        fresh = {pid: state for pid, (parent, state) in parents.items() if parent in found and pid not in found}
        grown = bool(fresh)
        found |= fresh
    return found


def field_of(path: Path, name: str) -> int:
    try:
        return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(name + ":"))
    except (OSError, StopIteration):
        return 0


def sample(root: int, folder: Path, started: float) -> Sample:
    processes = tree(root)
    home = Path(f"/proc/{root}")
    shared = [path for place in (folder, Path("/dev/shm")) for path in place.rglob("*")]
    return Sample(
        seconds=round(time.monotonic() - started, 1),
        trainer_rss_mib=round(field_of(home / "status", "VmRSS") / 1024, 1),
        trainer_threads=field_of(home / "status", "Threads"),
        trainer_descriptors=sum(1 for _ in (home / "fd").iterdir()),
        tree_pss_mib=round(sum(field_of(Path(f"/proc/{one}/smaps_rollup"), "Pss") for one in processes) / 1024, 1),
        tree_processes=len(processes),
        tree_zombies=sum(state == "Z" for state in processes.values()),
        temporary_files=len(shared),
        shared_memory_mib=round(field_of(Path("/proc/meminfo"), "Shmem") / 1024, 1),
    )


def watched(command: Sequence[str], *, minutes: float, folder: Path) -> tuple[list[Sample], int]:
    """The samples, and the exit status of the command."""
    samples: list[Sample] = []
    started = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}, start_new_session=True)
    try:
        while process.poll() is None and time.monotonic() - started < 60 * minutes:
            try:
                samples.append(sample(process.pid, folder, started))
            except OSError:
                break
            time.sleep(EVERY_S)
    finally:
        if process.poll() is None:
            # Not SIGINT, which a command started in the background may have been told to ignore.
            process.send_signal(signal.SIGTERM)
    return samples, process.wait(timeout=300)


def growth(samples: Sequence[Sample], warm_up_s: float) -> dict[str, dict[str, float | bool]]:
    """For each measure the mean, or of what comes and goes the lowest number, in the first and the last third."""
    warm = [one for one in samples if one.seconds >= warm_up_s]
    third = len(warm) // 3
    if third < 3:
        raise SystemExit(f"only {len(warm)} samples after the warm-up; let it run longer")
    verdicts: dict[str, dict[str, float | bool]] = {}
    for field in fields(Sample):
        if field.name == "seconds":
            continue
        compared = min if field.name in COMES_AND_GOES else statistics.fmean
        first, last = (
            compared(float(getattr(one, field.name)) for one in part) for part in (warm[:third], warm[-third:])
        )
        allowed = max(ALLOWED_SHARE * first, ALLOWED.get(field.name, ALLOWED_COUNT))
        is_memory_of_all = field.name == "shared_memory_mib"
        grew = last - first > (32.0 if is_memory_of_all else allowed)
        verdicts[field.name] = {"first_third": round(first, 1), "last_third": round(last, 1), "grew": grew}
    return verdicts


def judge_again(path: Path, warm_up_minutes: float) -> None:
    results = json.loads(path.read_text())
    results["measures"] = growth([Sample(**one) for one in results["samples"]], 60 * warm_up_minutes)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results["measures"], indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=5.0, help="minutes that are not compared")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", type=Path, help="results of an earlier run; nothing is run")
    parser.add_argument("command", nargs="*")
    chosen = parser.parse_args()
    if chosen.again:
        judge_again(chosen.again, chosen.warm_up)
        return

    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        before = set(Path("/dev/shm").iterdir())
        samples, status = watched(chosen.command, minutes=chosen.minutes, folder=folder)
        time.sleep(1.0)
        left = [str(path.relative_to(folder)) for path in folder.rglob("*")]
        left = sorted(name for name in left if not name.startswith(NOT_OURS))
        left += sorted(str(path) for path in set(Path("/dev/shm").iterdir()) - before)
    verdicts = growth(samples, 60 * chosen.warm_up)
    results = {
        "command": " ".join(chosen.command),
        "minutes": round(samples[-1].seconds / 60, 1),
        "exit_status": status,
        "measures": verdicts,
        "left_behind": left[:20],
        "samples": [asdict(one) for one in samples[:: max(1, len(samples) // 60)]],
    }
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps({key: value for key, value in results.items() if key != "samples"}, indent=2))
    sys.exit(any(verdict["grew"] for verdict in verdicts.values()) or bool(left))


if __name__ == "__main__":
    main()
