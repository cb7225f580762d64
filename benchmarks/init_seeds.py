"""The project of ``saccade init`` for several seeds: right before, after imitation, after reinforcement; tools; time.

python benchmarks/init_seeds.py --seeds 0 1 2 3 4 --out runs/init

Ends with status 1 unless both stages gain over all seeds together, and tools stay in use.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from saccade.evaluation.statistics import paired_difference
from saccade.rewards.reward import counts_as_right
from saccade.runs.records import read_records

STAGES = ("before", "after_sft", "after_rl")
SACCADE = (sys.executable, "-m", "saccade")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=Path("runs/init"))
    arguments = parser.parse_args()
    project = arguments.out.absolute() / "project"
    if not project.exists():
        subprocess.run([*SACCADE, "init", str(project)], check=True)
    rights: dict[str, list[float]] = {stage: [] for stage in STAGES}
    used: list[float] = []
    print(
        "| seed | "
        + " | ".join(f"{stage} (tool used)" for stage in STAGES)
        + " | wall | CPU |\n|---|---|---|---|---|---|"
    )
    for seed in arguments.seeds:
        wall_s, cpu_s = train(project, seed)
        report = json.loads((project / f"runs/seed-{seed}/report.json").read_text(encoding="utf-8"))
        stages = {stage["name"]: stage for stage in report["stages"]}
        cells = [f"{stages[name]['accuracy']:.1%} ({stages[name]['tool_rate']:.0%})" for name in STAGES]
        print(f"| {seed} | {' | '.join(cells)} | {wall_s:.0f} s | {cpu_s:.0f} s |")
        used.append(stages["after_rl"]["tool_rate"])
        for stage in STAGES:
            rights[stage] += right(project / f"runs/seed-{seed}/evaluations/{stage}.jsonl")
    gains = [paired_difference(rights[a], rights[b], seed=0) for a, b in pairwise(STAGES)]
    for after, gain in zip(STAGES[1:], gains):
        low, high = (100 * end for end in gain.ci95)
        print(f"{after}: {100 * gain.mean:+.1f} points ({low:+.1f} to {high:+.1f}), {gain.n} answers in pairs")
    return 0 if min(gain.ci95[0] for gain in gains) > 0 and min(used) > 0.9 else 1


def train(project: Path, seed: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a run as the project's README begins it."""
    started, spent = time.monotonic(), os.times()
    run = [*SACCADE, "train", "--config", "config.yaml", "--seed", str(seed), "--out", f"runs/seed-{seed}", "--quiet"]
    subprocess.run(run, check=True, cwd=project, stdout=subprocess.DEVNULL)
    now = os.times()
    cpu_s = now.children_user + now.children_system - spent.children_user - spent.children_system
    return time.monotonic() - started, cpu_s


def right(file: Path) -> list[float]:
    """1 or 0 for each question, in the order of their ids."""
    attempts = sorted(read_records(file), key=lambda one: one.task.id)
    return [float(counts_as_right(one.task, one.trajectory)) for one in attempts]


if __name__ == "__main__":
    sys.exit(main())
