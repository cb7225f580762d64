"""Do rewards on kinds of comparisons carry over to other comparisons, on a real model?

The imitations of ``rewards.py`` are reinforced by CodeDance's reward with the turn signal: on three kinds (more, side,
channel: the runs of ``compared.py``), or with as many steps on one (side). Then other comparisons are asked that no run
was trained on or shown: which colour reaches farther right, which half, the upper or the lower, is darker, which
third is the brightest. Named before the first run: right answers there, three kinds less one, paired by question,
each seed by itself. Beside it: both less the imitation, another question's picture, and a blank one.

python -m studies.real_model.questions --kinds side --held-out 96 --out one_kind
python -m studies.real_model.questions --kinds reaches upper third --train 0 --held-out 144 --out others
python -m studies.real_model.carried --data one_kind --others others --starts runs/rewards --compared runs/compared
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.claims.paired import paired_change
from studies.real_model.compared import SETTINGS
from studies.real_model.rewards import BASE, VARIANTS, reinforced, right_answers
from studies.seed_runs import Row, directory_of, imitation_of, write_results

from saccade.evaluation.sample_files import sample_files


def checkpoints(options: argparse.Namespace, seed: int) -> dict[str, Path]:
    """What is measured, by name; the run on one kind is made where it is not there."""
    start = imitation_of(directory_of(BASE, seed, options.starts))
    one = options.out / f"one-{seed}"
    reinforced(one, seed, options.threads, [*VARIANTS[BASE], *SETTINGS], start=start, data=options.data)
    three = directory_of(BASE, seed, options.compared)
    return {"imitation": start} | {
        name: sorted((run / "checkpoints").glob("rl-*"))[-1] for name, run in (("one", one), ("three", three))
    }


def measured(checkpoint: Path, options: argparse.Namespace, directory: Path) -> dict[str, str]:
    """For each way of asking, 1 or 0 for each question in the order of their names."""
    command = [sys.executable, "-m", "saccade", "eval", "--model", str(checkpoint)]
    command += ["--data", str(options.others / "held_out.jsonl"), "--probe", "blank", "--probe", "other-image"]
    command += ["--out", str(directory), "--threads", str(options.threads), "--quiet", "--resume"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: right_answers(directory, name) for name in sample_files(directory)}


def figures(rows: Sequence[Row]) -> str:
    """Markdown: shares by way of asking, and the changes on the pictures themselves, paired by question."""
    lines = ["| seed | | " + " | ".join(rows[0]["right"]) + " |", "|---|---" + "|---" * len(rows[0]["right"]) + "|"]
    for row in rows:
        cells = [f"{100 * of.count('1') / len(of):.0f} %" for of in row["right"].values()]
        lines.append(f"| {row['seed']} | {row['checkpoint']} | {' | '.join(cells)} |")
    by = {(row["seed"], row["checkpoint"]): next(iter(row["right"].values())) for row in rows}
    for seed in sorted({row["seed"] for row in rows}):
        for after, before in (("three", "one"), ("one", "imitation"), ("three", "imitation")):
            first, second = by[seed, after], by[seed, before]
            change = paired_change([100.0 * (int(one) - int(two)) for one, two in zip(first, second, strict=True)])
            lines.append(
                f"seed {seed}, {after} less {before}: {change.mean:+.0f} ({change.low:+.0f} to {change.high:+.0f})"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--data", "--others", "--starts", "--compared"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/carried"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    for seed in options.seeds:
        for name, checkpoint in checkpoints(options, seed).items():
            right = measured(checkpoint, options, options.out / f"asked-{name}-{seed}")
            rows.append({"seed": seed, "checkpoint": name, "right": right})
            print(f"{name}, seed {seed}: {json.dumps({way: of.count('1') for way, of in right.items()})}", flush=True)
    print(figures(rows))
    if options.json:
        write_results(options.json, rows)


if __name__ == "__main__":
    main()
