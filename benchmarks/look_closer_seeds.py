"""Reinforcement from the base model for several seeds: accuracy and where it looks, before and after.

python benchmarks/look_closer_seeds.py --seeds 0 1 2 --out runs/look_closer --json docs/results/look_closer.json
"""

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/look_closer"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    runs = [run(seed, arguments.out / f"seed-{seed}", arguments.overrides) for seed in arguments.seeds]
    print("| seed | family | before | after RL | crop IoU before | after |\n|---|---|---|---|---|---|")
    for one in runs:
        print("\n".join(rows(one)))
    if arguments.json:
        result = {
            "command": "python benchmarks/look_closer_seeds.py " + " ".join(sys.argv[1:]),
            "date": date.today().isoformat(),
            "runs": runs,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def run(seed: int, out: Path, overrides: list[str]) -> dict[str, object]:
    settings = [word for override in overrides for word in ("--set", override)]
    command = [sys.executable, "-m", "saccade", "train", "look_closer", "--seed", str(seed), "--out", str(out)]
    subprocess.run([*command, "--threads", "1", "--quiet", *settings], check=True, stdout=subprocess.DEVNULL)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    looks = {record["stage"]: record["look/iou"] for record in records if "look/iou" in record}
    return {
        "seed": seed,
        "wall_s": report["wall_s"],
        "stages": report["stages"],
        "look_iou": {name: looks.get(name) for name in ("before", "after_rl")},
    }


def rows(one: dict[str, object]) -> list[str]:
    """A line for all families together and one for each."""
    before, after = (next(stage for stage in one["stages"] if stage["name"] == name) for name in ("before", "after_rl"))
    looks = [f"{one['look_iou'][name]:.2f}" if one["look_iou"][name] is not None else "-" for name in one["look_iou"]]
    lines = [f"| {one['seed']} | all | {cell(before)} | {cell(after)} | {looks[0]} | {looks[1]} |"]
    for family in before["families"]:
        cells = f"{cell(before['families'][family])} | {cell(after['families'][family])}"
        lines.append(f"| {one['seed']} | {family} | {cells} | | |")
    return lines


def cell(accuracy: dict[str, object]) -> str:
    low, high = accuracy["ci95"]
    return f"{accuracy['accuracy']:.1%} ({low:.1%} to {high:.1%}, n={accuracy['n']})"


if __name__ == "__main__":
    main()
