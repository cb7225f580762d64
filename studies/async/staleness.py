"""The demo's reinforcement some batches ahead, with and without correction, for several seeds.

python benchmarks/demo_seeds.py --seeds 0 1 2 --out runs/demo_seeds --threads 1
python -m studies.async.staleness --ahead 0 1 4 8 --correction none token icepop --seeds 0 1 2 --from runs/demo_seeds

Every run starts from the imitation of the finished demo of its seed. Without a lag nothing is corrected, so that row is
run once. Runs that were interrupted are resumed.
"""

import argparse
import itertools
import json
import os
import platform
import statistics
import sys
from datetime import date
from pathlib import Path

from studies.seed_runs import Row, imitation_of, train

from saccade.evaluation.statistics import wilson_interval
from saccade.runs.metrics import read_metrics

TOLD = ("reward/mean", "sampler_kl", "mismatch_kl", "effective_samples", "importance_cut", "rollout/staleness")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ahead", type=int, nargs="+", default=[0, 1, 4, 8], metavar="STEPS")
    corrections = ["none", "token", "sequence", "icepop", "dppo"]
    parser.add_argument("--correction", nargs="+", default=["none", "token", "icepop"], choices=corrections)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--from", dest="start", type=Path, default=Path("runs/demo_seeds"))
    parser.add_argument("--out", type=Path, default=Path("runs/staleness"))
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    variants = [
        (ahead, correction) for ahead in arguments.ahead for correction in (arguments.correction if ahead else ["none"])
    ]
    rows = [
        run(ahead, correction, seed, arguments.start / f"seed-{seed}", arguments.out, arguments.overrides)
        for ahead, correction in variants
        for seed in arguments.seeds
    ]
    print(table(rows))
    if arguments.json:
        result = {
            "command": "python -m studies.async.staleness " + " ".join(sys.argv[1:]),
            "date": date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU",
            "runs": rows,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def run(ahead: int, correction: str, seed: int, start: Path, out: Path, overrides: list[str]) -> Row:
    """One run from a demo's imitation: its accuracy afterwards, and how it went step by step."""
    directory = out / f"ahead-{ahead}-{correction}-{seed}"
    settings = [f"rl.staleness={ahead}", f"rl.algorithm.options.importance={correction}", *overrides]
    report = train("demo", seed, directory, settings, threads=1, start=imitation_of(start))
    [after] = [one for one in report["stages"] if one["name"] == "after_rl"]
    steps = [values for position, values in read_metrics(directory / "metrics.jsonl") if position.stage == "rl"]
    print(f"ahead {ahead}, {correction}, seed {seed}: {after['accuracy']:.1%}", flush=True)
    return {
        "ahead": ahead,
        "correction": correction,
        "seed": seed,
        "accuracy": after["accuracy"],
        "n": after["n"],
        "steps": [{name: values[name] for name in TOLD if name in values} for values in steps],
    }


def table(rows: list[Row]) -> str:
    """Accuracy of all seeds together with its Wilson 95 % interval, and the mean reward of each third of the steps."""
    lines = [
        "| ahead | correction | accuracy after RL | by seed | reward, thirds of the steps | sampler KL, mean | "
        "effective samples |",
        "|---|---|---|---|---|---|---|",
    ]
    for ahead, correction in dict.fromkeys((one["ahead"], one["correction"]) for one in rows):
        of = [one for one in rows if (one["ahead"], one["correction"]) == (ahead, correction)]
        count = sum(one["n"] for one in of)
        right = round(sum(one["accuracy"] * one["n"] for one in of))
        low, high = wilson_interval(right, count)
        seeds = ", ".join(f"{one['accuracy']:.1%}" for one in of)
        cells = [f"{right / count:.1%} ({low:.1%} to {high:.1%}, n={count})", seeds, thirds(of)]
        cells += [mean_of(of, "sampler_kl", "{:.4f}"), mean_of(of, "effective_samples", "{:.1%}")]
        lines.append(f"| {ahead} | {correction} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def thirds(rows: list[Row]) -> str:
    count = len(rows[0]["steps"])
    bounds = [round(count * third / 3) for third in range(4)]
    parts = [
        [step["reward/mean"] for one in rows for step in one["steps"][first:last] if "reward/mean" in step]
        for first, last in itertools.pairwise(bounds)
    ]
    return ", ".join(f"{statistics.mean(part):.2f}" if part else "–" for part in parts)


def mean_of(rows: list[Row], name: str, form: str) -> str:
    values = [step[name] for one in rows for step in one["steps"] if name in step]
    return form.format(statistics.mean(values)) if values else "–"


if __name__ == "__main__":
    main()
