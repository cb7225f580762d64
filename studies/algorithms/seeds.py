"""Every algorithm from the same imitation, for several seeds: what each makes of the demo's held-out accuracy.

python benchmarks/demo_seeds.py --seeds 0 1 2 --out runs/demo_seeds --threads 1
python -m studies.algorithms.seeds --from runs/demo_seeds --json studies/algorithms/seeds.json
"""

import argparse
import json
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "GRPO": ("name=grpo", "clip_high=0.28"),
    "GRPO without std": ("name=grpo", "scale_by_std=false"),
    "Dr. GRPO": ("name=dr_grpo",),
    "RLOO": ("name=rloo",),
    "DAPO": ("name=dapo", "max_refills=2", "overlong_tokens=48"),
    "GSPO": ("name=gspo",),
    "PPO": ("name=ppo", "critic.learning_rate=1e-3"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="start", type=Path, default=Path("runs/demo_seeds"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS), choices=list(ALGORITHMS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("runs/algorithms"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    runs = [
        run(name, seed, arguments.start / f"seed-{seed}", arguments.out)
        for name in arguments.algorithms
        for seed in arguments.seeds
    ]
    print(table(runs))
    if arguments.json:
        result = {
            "command": "python -m studies.algorithms.seeds " + " ".join(sys.argv[1:]),
            "date": date.today().isoformat(),
            "settings": {name: list(ALGORITHMS[name]) for name in arguments.algorithms},
            "runs": runs,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def run(name: str, seed: int, start: Path, out: Path) -> dict[str, object]:
    """Reinforcement by one algorithm from the imitation of a finished demo; resumes what was interrupted."""
    [imitation] = (start / "checkpoints").glob("sft-*")
    directory = out / f"{name.lower().replace(' ', '-').replace('.', '')}-{seed}"
    settings = [word for setting in ALGORITHMS[name] for word in ("--set", f"rl.algorithm.{setting}")]
    command = [sys.executable, "-m", "saccade", "train", "demo", "--model", str(imitation), "--seed", str(seed)]
    options = ["--out", str(directory), "--threads", "1", "--quiet", "--resume"]
    subprocess.run([*command, *options, *settings], check=True, stdout=subprocess.DEVNULL)
    before = stage(start, "after_sft")
    after = stage(directory, "after_rl")
    print(f"{name}, seed {seed}: {before['accuracy']:.1%} -> {after['accuracy']:.1%}", flush=True)
    wall_s = json.loads((directory / "report.json").read_text(encoding="utf-8"))["wall_s"]
    return {"algorithm": name, "seed": seed, "before": before, "after": after, "wall_s": wall_s}


def stage(directory: Path, name: str) -> dict[str, object]:
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    return next(one for one in report["stages"] if one["name"] == name)


def table(runs: list[dict[str, object]]) -> str:
    """A Markdown table: accuracy after each algorithm with its Wilson 95 % interval for each seed, then the means."""
    seeds = sorted({one["seed"] for one in runs})
    lines = [
        "| algorithm | " + " | ".join(f"seed {seed}" for seed in seeds) + " | mean | mean gain | wall, mean |",
        "|---|" + "---|" * (len(seeds) + 3),
    ]
    for name in dict.fromkeys(one["algorithm"] for one in runs):
        of_name = {one["seed"]: one for one in runs if one["algorithm"] == name}
        cells = [f"{cell(of_name[seed]['before'])} → {cell(of_name[seed]['after'])}" for seed in seeds]
        after = statistics.mean(one["after"]["accuracy"] for one in of_name.values())
        before = statistics.mean(one["before"]["accuracy"] for one in of_name.values())
        wall_s = statistics.mean(one["wall_s"] for one in of_name.values())
        cells += [f"{after:.1%}", f"{100 * (after - before):+.1f} points", f"{wall_s:.0f} s"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(one: dict[str, object]) -> str:
    low, high = one["ci95"]
    return f"{one['accuracy']:.1%} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
