"""What a fleet under Ray costs beside one process: start-up, a call, a step beyond its parts, memory of each process.

    python benchmarks/demo_seeds.py --seeds 0 --out runs/demo_seeds --threads 1 --set rl.steps=0 --set sft.steps=500
    python benchmarks/fleet_overhead.py --from runs/demo_seeds/seed-0 --json docs/results/fleet_overhead.json

Each layout reinforces the same tiny model for some steps. Seconds depend on what else the machine does; on two cores
two learners and two rollout workers cannot be faster than one process, so that steps say what a layout costs alone.
Processor seconds, of all processes together, depend on it far less.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import psutil
from seed_runs import imitation_of

from saccade.runs.metrics import read_metrics

SMALL = ("rl.tasks_per_step=8", "rl.group_size=4", "evaluation_tasks=16", "rl.evaluate_every=0")
LAYOUTS = {
    "one process": (),
    "1 + 1": ("fleet.rollouts=1",),
    "2 + 2": ("fleet.learners=2", "fleet.rollouts=2"),
}
KINDS = {"LearnerActor": "learner", "RolloutActor": "rollout worker", "ray::IDLE": "idle worker"}
CALLS = """
import ray, time
from saccade.config.fleet import FleetSettings
from saccade.train.ray_cluster import cluster
joined = cluster(FleetSettings(rollouts=1))
joined.__enter__()
@ray.remote(num_cpus=0)
class Echo:
    def say(self, value):
        return value
echo = Echo.remote()
ray.get(echo.say.remote(0))
took = []
for _ in range(300):
    begun = time.perf_counter()
    ray.get(echo.say.remote(0))
    took.append(time.perf_counter() - begun)
took.sort()
print(1e3 * took[150], 1e3 * took[285])
joined.__exit__(None, None, None)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--from", dest="start", type=Path, default=Path("runs/demo_seeds/seed-0"))
    parser.add_argument("--out", type=Path, default=Path("runs/fleet_overhead"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    said = subprocess.run([sys.executable, "-c", CALLS], check=True, capture_output=True, text=True).stdout.split()
    result = {
        "command": "python benchmarks/fleet_overhead.py " + " ".join(sys.argv[1:]),
        "date": date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU",
        "load": os.getloadavg()[0],
        "call_ms": {"median": round(float(said[-2]), 2), "p95": round(float(said[-1]), 2)},
        "layouts": {
            name: run(arguments.out / str(number), arguments.start, arguments.steps, settings)
            for number, (name, settings) in enumerate(LAYOUTS.items())
        },
    }
    print(told(result))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def run(out: Path, start: Path, steps: int, settings: tuple[str, ...]) -> dict[str, object]:
    """One run: seconds until its first step began, medians of its steps, and peaks of memory by kind of process."""
    command = [sys.executable, "-m", "saccade", "train", "demo", "--model", str(imitation_of(start)), "--out", str(out)]
    command += ["--threads", "1", "--quiet"]
    command += [word for one in (*SMALL, f"rl.steps={steps}", *settings) for word in ("--set", one)]
    begun_s, usage, is_over = time.monotonic(), Usage(), threading.Event()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watching = threading.Thread(target=watch, args=(process.pid, usage, is_over))
    watching.start()
    started_s, started_cpu_s = None, 0.0
    while process.poll() is None:
        if started_s is None and (out / "metrics.jsonl").exists():
            started_s, started_cpu_s = time.monotonic() - begun_s, usage.cpu_s
        time.sleep(0.05)
    is_over.set()
    watching.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    metrics = [values for position, values in read_metrics(out / "metrics.jsonl") if position.stage == "rl"][1:]
    played = [one.get("time/rollouts_busy_s", one["time/rollout_s"]) + one["time/reward_s"] for one in metrics]
    waited = [one["time/rollout_s"] + one["time/reward_s"] for one in metrics]
    step_s = statistics.median(one["time/step_s"] for one in metrics)
    learned_s = statistics.median(one["time/step_s"] - wait for one, wait in zip(metrics, waited))
    played_s = statistics.median(played)
    return {
        "started_s": round(started_s or 0.0, 1),
        "wall_s": round(time.monotonic() - begun_s, 1),
        "started_cpu_s": round(started_cpu_s, 1),
        "step_cpu_s": round((usage.cpu_s - started_cpu_s) / steps, 2),
        "step_s": round(step_s, 3),
        "played_s": round(played_s, 3),
        "learned_s": round(learned_s, 3),
        "between_s": round(statistics.median(wait - play for wait, play in zip(waited, played)), 4),
        "memory_mib": {
            kind: [round(one) for one in sorted(of, reverse=True)] for kind, of in sorted(usage.peaks().items())
        },
    }


@dataclass
class Usage:
    """What the processes of a run have used so far, by their ids."""

    kinds: dict[int, str] = field(default_factory=dict)
    mib: dict[int, float] = field(default_factory=dict)
    """Peaks of the memory that is each process's own (USS)."""
    cpu: dict[int, float] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float:
        """Of all processes, those that have ended too, as far as they were seen."""
        return sum(self.cpu.values())

    def peaks(self) -> dict[str, list[float]]:
        """Memory by the kind of process; Ray's own processes are added up."""
        found: dict[str, list[float]] = {}
        for pid, kind in self.kinds.items():
            found.setdefault(kind, []).append(self.mib[pid])
        if "Ray itself" in found:
            found["Ray itself"] = [sum(found["Ray itself"])]
        return found


def watch(root: int, usage: Usage, is_over: threading.Event) -> None:
    while not is_over.wait(0.5):
        try:
            found = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
        except psutil.Error:
            continue
        for one in found:
            try:
                title, times = " ".join(one.cmdline()[:1]), one.cpu_times()
                mib = one.memory_full_info().uss / 2**20
            except psutil.Error:
                continue
            kind = next((name for mark, name in KINDS.items() if mark in title), "Ray itself")
            kind = "the command" if one.pid == root else kind
            # A worker has its title only when it has its actor.
            usage.kinds[one.pid] = kind if kind != "Ray itself" else usage.kinds.get(one.pid, kind)
            usage.mib[one.pid] = max(mib, usage.mib.get(one.pid, 0.0))
            usage.cpu[one.pid] = times.user + times.system


def told(result: dict[str, object]) -> str:
    """A Markdown table."""
    layouts, calls = result["layouts"], result["call_ms"]
    assert isinstance(layouts, dict)
    assert isinstance(calls, dict)
    lines = [
        "| learners + rollout workers | until the first step | processor | step | processor | playing | learning | "
        "between | memory, MiB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in layouts.items():
        memory = "; ".join(f"{kind} {', '.join(map(str, of))}" for kind, of in one["memory_mib"].items())
        lines.append(
            f"| {name} | {one['started_s']} s | {one['started_cpu_s']} s | {one['step_s']:.3f} s | "
            f"{one['step_cpu_s']} s | {one['played_s']:.3f} s | {one['learned_s']:.3f} s | "
            f"{1e3 * one['between_s']:.0f} ms | {memory} |"
        )
    lines.append(f"An empty call: {calls['median']} ms median, {calls['p95']} ms at 95 %; load {result['load']:.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
