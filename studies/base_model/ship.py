"""Puts the model that a run made into the package, with its evaluations beside this file.

saccade train perception --out runs/base --threads 1
python -m studies.base_model.ship runs/base
saccade train perception_words --out runs/words --threads 1
python -m studies.base_model.ship runs/words --name gym
"""

import argparse
import json
import shutil
from pathlib import Path

from saccade.runs.checkpoints import checkpoints

ROOT = Path(__file__).parents[2]


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
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    kept = {key: report[key] for key in ("stages", "wall_s", "settings", "versions")}
    results = Path(__file__).with_name(f"{options.name}_perception.json")
    results.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    print(f"{last.path.name} is now {shipped.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
