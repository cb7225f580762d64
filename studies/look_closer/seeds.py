"""Reinforcement that has to find out where to look, for several seeds: accuracy and crops at each stage.

python -m studies.look_closer.seeds --seeds 0 1 2 --out runs/look_closer --json studies/look_closer/seeds.json
"""

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

STAGES = {"before": "base model", "after_sft": "with the habit", "after_rl": "after RL"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/look_closer"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    runs = [run(seed, arguments.out / f"seed-{seed}", arguments.overrides) for seed in arguments.seeds]
    print("| seed | " + " | ".join(STAGES.values()) + " |\n|---|" + "---|" * len(STAGES))
    for one in runs:
        print(f"| {one['seed']} | " + " | ".join(cell(one, name) for name in STAGES) + " |")
    if arguments.json:
        result = {
            "command": "python -m studies.look_closer.seeds " + " ".join(sys.argv[1:]),
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
    looks = {
        record["stage"]: {name: record[f"look/{name}"] for name in ("iou", "coverage")}
        for record in records
        if record["stage"] in STAGES and "look/iou" in record
    }
    return {"seed": seed, "wall_s": report["wall_s"], "stages": report["stages"], "looks": looks}


def cell(one: dict[str, object], name: str) -> str:
    """Accuracy with its Wilson 95 % interval, mean IoU of the best crop, share of the target inside it."""
    stage = next(stage for stage in one["stages"] if stage["name"] == name)
    low, high = stage["ci95"]
    look = one["looks"][name]
    right = f"{stage['accuracy']:.1%} ({low:.1%} to {high:.1%}, n={stage['n']})"
    return f"{right}, IoU {look['iou']:.2f}, covered {look['coverage']:.2f}"


if __name__ == "__main__":
    main()
