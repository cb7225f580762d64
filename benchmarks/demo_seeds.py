"""Runs the demo for several seeds and prints a table of what each stage reached.

python benchmarks/demo_seeds.py --seeds 0 1 2 --out runs/demo_seeds --json studies/demo/seeds.json
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

STAGES = ("after_sft", "after_rl", "after_rl_without_tool")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/demo_seeds"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    runs = [
        run(seed, arguments.out / f"seed-{seed}", arguments.threads, arguments.overrides) for seed in arguments.seeds
    ]
    print(table(runs))
    if arguments.json:
        result = {
            "command": "python benchmarks/demo_seeds.py " + " ".join(sys.argv[1:]),
            "date": date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU",
            "runs": runs,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def run(seed: int, out: Path, threads: int, overrides: list[str]) -> dict[str, object]:
    """One demo in a process of its own."""
    settings = [word for override in overrides for word in ("--set", override)]
    command = [
        sys.executable,
        "-m",
        "saccade",
        "demo",
        "--seed",
        str(seed),
        "--out",
        str(out),
        "--threads",
        str(threads),
    ]
    started_s = time.monotonic()
    subprocess.run([*command, "--quiet", *settings], check=True, stdout=subprocess.DEVNULL)
    wall_s = time.monotonic() - started_s
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    # Of the largest child so far, so it can only be too high for all but the first seed.
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "seed": seed,
        "wall_s": round(wall_s, 1),
        "peak_mib": round(peak_mib),
        "stages": [stage for stage in report["stages"] if stage["name"] in STAGES],
        "versions": report["versions"],
    }


def table(runs: list[dict[str, object]]) -> str:
    """A Markdown table: accuracy with its Wilson 95 % interval for each stage and seed, then the means."""
    lines = [
        "| seed | " + " | ".join(STAGES) + " | RL minus SFT | wall | peak memory |",
        "|---|" + "---|" * (len(STAGES) + 3),
    ]
    columns: dict[str, list[float]] = {name: [] for name in STAGES}
    for one in runs:
        stages = {stage["name"]: stage for stage in one["stages"]}
        cells = []
        for name in STAGES:
            stage = stages[name]
            low, high = stage["ci95"]
            columns[name].append(stage["accuracy"])
            cells.append(f"{stage['accuracy']:.1%} ({low:.1%} to {high:.1%}, n={stage['n']})")
        gain = stages["after_rl"]["accuracy"] - stages["after_sft"]["accuracy"]
        cells += [f"{100 * gain:+.1f} points", f"{one['wall_s']} s", f"{one['peak_mib']} MiB"]
        lines.append(f"| {one['seed']} | " + " | ".join(cells) + " |")
    means = [f"{statistics.mean(values):.1%}" for values in columns.values()]
    gain = statistics.mean(columns["after_rl"]) - statistics.mean(columns["after_sft"])
    lines.append("| mean | " + " | ".join(means) + f" | {100 * gain:+.1f} points | | |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
