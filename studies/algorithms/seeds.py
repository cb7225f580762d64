"""Every algorithm from the same imitation, for several seeds: what each makes of the demo's held-out accuracy.

python benchmarks/demo_seeds.py --seeds 0 1 2 --out runs/demo_seeds --threads 1
python -m studies.algorithms.seeds --from runs/demo_seeds --json studies/algorithms/seeds.json
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path

from saccade.runs.metrics import read_metrics

PERCEPTION, ENTROPY = "options.perception", "options.entropy_weight"
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "GRPO": ("name=grpo", "clip_high=0.28"),
    "GRPO without std": ("name=grpo", "scale_by_std=false"),
    "Dr. GRPO": ("name=dr_grpo",),
    "RLOO": ("name=rloo",),
    "DAPO": ("name=dapo", "max_refills=2", "overlong_tokens=48"),
    "GSPO": ("name=gspo",),
    "PPO": ("name=ppo", "critic.learning_rate=1e-3"),
    "CISPO": ("name=cispo",),
    "SAPO": ("name=sapo",),
    "GMPO": ("name=gmpo",),
    "LUSPO": ("name=luspo",),
    "VESPO": ("name=vespo",),
    "GRPO, GDPO's advantages": ("name=grpo", "clip_high=0.28", "advantages=gdpo"),
    "GRPO, MaxRL's advantages": ("name=grpo", "clip_high=0.28", "advantages=maxrl"),
    "REINFORCE++": ("name=grpo", "clip_high=0.28", "advantages=reinforce_plus_plus"),
    "REINFORCE++ with baseline": ("name=grpo", "clip_high=0.28", "advantages=reinforce_plus_plus_baseline"),
    "PAPO": ("name=grpo", "clip_high=0.28", f"{PERCEPTION}.masked_kl_weight=0.01", f"{ENTROPY}=-0.03"),
    "VPPO": (
        "name=grpo",
        "clip_high=0.28",
        f"{PERCEPTION}.token_share=0.4",
        f"{PERCEPTION}.least_scale=0.9",
        f"{ENTROPY}=-0.06",
    ),
}
"""Settings of each, below ``rl.algorithm``; those of PAPO and VPPO are docs/choose.md's."""


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
    directory = out / f"{re.sub('[^a-z0-9+]+', '-', name.lower()).strip('-')}-{seed}"
    settings = [word for setting in ALGORITHMS[name] for word in ("--set", f"rl.algorithm.{setting}")]
    command = [sys.executable, "-m", "saccade", "train", "demo", "--model", str(imitation), "--seed", str(seed)]
    options = ["--out", str(directory), "--threads", "1", "--quiet", "--resume"]
    subprocess.run([*command, *options, *settings], check=True, stdout=subprocess.DEVNULL)
    before = stage(start, "after_sft")
    after = stage(directory, "after_rl")
    print(f"{name}, seed {seed}: {before['accuracy']:.1%} -> {after['accuracy']:.1%}", flush=True)
    wall_s = json.loads((directory / "report.json").read_text(encoding="utf-8"))["wall_s"]
    steps = [values for position, values in read_metrics(directory / "metrics.jsonl") if position.stage == "rl"]
    cpu_s = statistics.median(values["time/step_cpu_s"] or 0.0 for values in steps)
    return {"algorithm": name, "seed": seed, "before": before, "after": after, "wall_s": wall_s, "step_cpu_s": cpu_s}


def stage(directory: Path, name: str) -> dict[str, object]:
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    return next(one for one in report["stages"] if one["name"] == name)


def table(runs: list[dict[str, object]]) -> str:
    """A Markdown table: accuracy after each algorithm with its Wilson 95 % interval for each seed, then the means."""
    seeds = sorted({one["seed"] for one in runs})
    lines = [
        "| algorithm | "
        + " | ".join(f"seed {seed}" for seed in seeds)
        + " | mean | mean gain | wall, mean | CPU of a step |",
        "|---|" + "---|" * (len(seeds) + 4),
    ]
    for name in dict.fromkeys(one["algorithm"] for one in runs):
        of_name = {one["seed"]: one for one in runs if one["algorithm"] == name}
        cells = [f"{cell(of_name[seed]['before'])} → {cell(of_name[seed]['after'])}" for seed in seeds]
        after = statistics.mean(one["after"]["accuracy"] for one in of_name.values())
        before = statistics.mean(one["before"]["accuracy"] for one in of_name.values())
        wall_s = statistics.mean(one["wall_s"] for one in of_name.values())
        cpu_s = statistics.mean(one["step_cpu_s"] for one in of_name.values())
        cells += [f"{after:.1%}", f"{100 * (after - before):+.1f} points", f"{wall_s:.0f} s", f"{cpu_s:.2f} s"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(one: dict[str, object]) -> str:
    low, high = one["ci95"]
    return f"{one['accuracy']:.1%} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
