"""Puts the model that a run made into the package, with its log and its evaluations into docs/results.

saccade train perception --out runs/base --threads 1
python benchmarks/ship_base.py runs/base
saccade train perception_words --out runs/words --threads 1
python benchmarks/ship_base.py runs/words --name gym
"""

import argparse
import json
import shutil
from pathlib import Path

from saccade.runs.checkpoints import checkpoints

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results"
LOG_EVERY = 25
"""Steps between the lines of the log that is kept."""
LOGGED = ("stage", "step", "nll", "learning_rate", "gradient_norm", "time/wall_s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", default="base", choices=("base", "gym"), help="Of ``saccade:NAME``.")
    options = parser.parse_args()
    run, shipped = options.run, ROOT / f"src/saccade/models/{options.name}_checkpoint"
    last = max(checkpoints(run / "checkpoints"), key=lambda checkpoint: checkpoint.position.step)
    shutil.rmtree(shipped, ignore_errors=True)
    # The record of its pictures is a third of its weights.
    shutil.copytree(last.path, shipped, ignore=shutil.ignore_patterns("trainer", "saccade_trained_on.json"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{options.name}_perception_log.jsonl").write_text("".join(log_lines(run)), encoding="utf-8")
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    kept = {key: report[key] for key in ("stages", "wall_s", "settings", "versions")}
    (RESULTS / f"{options.name}_perception.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    print(f"{last.path.name} is now {shipped.relative_to(ROOT)}")


def log_lines(run: Path) -> list[str]:
    """Every ``LOG_EVERY``-th step of the training, and all evaluations, with the metrics that tell how it went."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        json.dumps({key: record[key] for key in LOGGED if key in record} if record["stage"] == "sft" else record) + "\n"
        for record in records
        if record["stage"] != "sft" or record["step"] % LOG_EVERY == 0
    ]


if __name__ == "__main__":
    main()
