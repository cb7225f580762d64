"""The rewards of CodeDance's Table 3 and the turn signal of its Figure 4 in miniature, for several seeds.

For each seed the tiny recipe imitates once and reinforces with the adaptive reward and the turn signal; each other
variant starts from that imitation. Results are appended to results.jsonl in --out; what is there is not run again, and
an interrupted run goes on where it was.

python benchmarks/codedance_seeds.py --seeds 0 1 2 --threads 1 --at-once 2 --json docs/results/codedance_seeds.json
"""

import argparse
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

from saccade.evaluation.statistics import wilson_interval

BASE = "adaptive, turns"
VARIANTS: dict[str, tuple[str, ...]] = {
    BASE: ("reward=adaptive", "turn_credit=true"),
    "adaptive": ("reward=adaptive", "turn_credit=false"),
    "outcome": ("reward=outcome", "turn_credit=false"),
    "outcome, turns": ("reward=outcome", "turn_credit=true"),
    "deepeyes": ("reward=deepeyes", "turn_credit=false"),
    "deepeyes, turns": ("reward=deepeyes", "turn_credit=true"),
}
"""The first of them also imitates; the others start from its imitation."""

SHOWN_BY_DEFAULT = (BASE, "adaptive", "outcome", "deepeyes")

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--variants", nargs="+", default=list(SHOWN_BY_DEFAULT), choices=list(VARIANTS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="Runs at the same time.")
    parser.add_argument("--out", type=Path, default=Path("runs/codedance_seeds"))
    parser.add_argument("--json", type=Path, help="Write all results here too.")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    results = arguments.out / "results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)

    def made(variant: str, seed: int) -> Row:
        found = [row for row in read(results) if (row["variant"], row["seed"]) == (variant, seed)]
        if found and found[-1]["settings"] == [*VARIANTS[variant], *arguments.overrides]:
            return found[-1]
        row = run(variant, seed, arguments.out, arguments.threads, arguments.overrides)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{variant}, seed {seed}: hard {row['after']['hard']['accuracy']:.1%}, {row['wall_s']:.0f} s", flush=True)
        return row

    with ThreadPoolExecutor(arguments.at_once) as pool:
        # Every variant needs the imitation of its seed first.
        rows = list(pool.map(lambda seed: made(BASE, seed), arguments.seeds))
        others = [(variant, seed) for seed in arguments.seeds for variant in arguments.variants if variant != BASE]
        rows += pool.map(lambda pair: made(*pair), others)
    print(rewards_table(rows))
    print()
    print(entropy_table(rows))
    if arguments.json:
        command = "python benchmarks/codedance_seeds.py " + " ".join(sys.argv[1:])
        head = json.dumps({"command": command, "date": date.today().isoformat()})
        lines = ",\n".join(json.dumps(rounded(row)) for row in rows)
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(f'{head[:-1]}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


def rounded(value: Any) -> Any:
    """The same with four digits behind the point."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def run(variant: str, seed: int, out: Path, threads: int, overrides: list[str]) -> Row:
    """One run of the tiny recipe, resumed if it was interrupted, as a row of the results."""
    directory = directory_of(variant, seed, out)
    settings = [*VARIANTS[variant], *overrides]
    command = [sys.executable, "-m", "saccade", "train", "codedance:tiny", "--seed", str(seed)]
    if variant != BASE:
        [imitation] = (directory_of(BASE, seed, out) / "checkpoints").glob("sft-*")
        command += ["--model", str(imitation)]
    command += ["--out", str(directory), "--threads", str(threads), "--quiet", "--resume"]
    command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    stages = {stage["name"]: stage for stage in report["stages"]}
    row: Row = {"variant": variant, "seed": seed, "settings": settings, "wall_s": report["wall_s"]}
    for when in ("sft", "rl"):
        if f"after_{when}_easy" in stages:
            name = "before" if when == "sft" else "after"
            row[name] = {kind: stages[f"after_{when}_{kind}"] for kind in ("easy", "hard")}
    metrics = [metric for metric in read(directory / "metrics.jsonl") if metric["stage"] == "rl"]
    keys = ("step", "entropy", "reward/accuracy", "rollout/turns", "calls/mean", "calls/success_rate")
    row["curve"] = [{key: metric.get(key) for key in keys} for metric in metrics]
    row["held_out"] = [
        {
            "step": metric["step"],
            "accuracy": metric["held_out/reward/accuracy"],
            "turns": metric["held_out/rollout/turns"],
        }
        for metric in metrics
        if "held_out/reward/accuracy" in metric
    ]
    return row


def directory_of(variant: str, seed: int, out: Path) -> Path:
    return out / f"{variant.replace(', ', '-')}-{seed}"


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def rewards_table(rows: list[Row]) -> str:
    """A Markdown table: what each variant makes of accuracy, calls and turns, easy and hard questions apart."""
    lines = [
        "| | hard: right | by seed | calls | turns | easy: right | calls | turns | runs that succeed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = {"imitation alone": [row["before"] for row in rows if "before" in row]}
    groups |= {name: [row["after"] for row in rows if row["variant"] == name] for name in VARIANTS}
    for name, of_name in groups.items():
        if not of_name:
            continue
        hard, easy = [one["hard"] for one in of_name], [one["easy"] for one in of_name]
        by_seed = ", ".join(f"{one['accuracy']:.0%}" for one in hard)
        lines.append(
            f"| {name} | {pooled(hard)} | {by_seed} | {calls(hard)} | {turns(hard)} "
            f"| {pooled(easy)} | {calls(easy)} | {turns(easy)} | {success(hard + easy)} |"
        )
    return "\n".join(lines)


def pooled(stages: list[Row]) -> str:
    """The share of right answers over all seeds with its Wilson 95 % interval, which leaves out how seeds differ."""
    count = sum(stage["n"] for stage in stages)
    right = sum(round(stage["accuracy"] * stage["n"]) for stage in stages)
    low, high = wilson_interval(right, count)
    return f"{right / count:.1%} ({low:.0%} to {high:.0%})"


def calls(stages: list[Row]) -> str:
    return f"{statistics.mean(stage['tools']['calls_mean'] for stage in stages):.2f}"


def turns(stages: list[Row]) -> str:
    return f"{statistics.mean(stage['turns_mean'] for stage in stages):.2f}"


def success(stages: list[Row]) -> str:
    rates = [stage["tools"]["success_rate"] for stage in stages if stage["tools"]["success_rate"] is not None]
    return f"{statistics.mean(rates):.1%}" if rates else "-"


def entropy_table(rows: list[Row]) -> str:
    """A Markdown table: entropy, accuracy in training and held-out accuracy over the steps, means over seeds."""
    names = [name for name in VARIANTS if any(row["variant"] == name for row in rows)]
    last = max(point["step"] for row in rows for point in row["curve"])
    steps = sorted({1, *range(5, last + 1, 5), last})
    lines = ["| | " + " | ".join(f"step {step}" for step in steps) + " |", "|---|" + "---|" * len(steps)]
    for name in names:
        for key, label in (
            ("entropy", "entropy"),
            ("reward/accuracy", "right in training"),
            ("calls/success_rate", "ok"),
        ):
            cells = [at(rows, name, step, key) for step in steps]
            lines.append(f"| {name}: {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def at(rows: list[Row], name: str, step: int, key: str, width: int = 2) -> str:
    """The mean over seeds and over the steps around this one."""
    values = [
        point[key]
        for row in rows
        if row["variant"] == name
        for point in row["curve"]
        if abs(point["step"] - step) <= width and point[key] is not None
    ]
    return f"{statistics.mean(values):.2f}" if values else "-"


if __name__ == "__main__":
    main()
