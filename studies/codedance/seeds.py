"""The rewards of CodeDance's Table 3 and the turn signal of its Figure 4 in miniature, for several seeds.

For each seed the tiny recipe imitates once and reinforces with the adaptive reward and the turn signal; each other
variant starts from that imitation. Results are appended to results.jsonl in --out; what is there is not run again, and
an interrupted run goes on where it was.

python -m studies.codedance.seeds --seeds 0 1 2 --threads 1 --at-once 2 --json studies/codedance/seeds.json
"""

import statistics
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    at_step,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    read,
    run_all,
    train,
    write_results,
)

BASE = "adaptive, turns"
VARIANTS: Variants = {
    BASE: ("reward=adaptive", "turn_credit=true"),
    "adaptive": ("reward=adaptive", "turn_credit=false"),
    "outcome": ("reward=outcome", "turn_credit=false"),
    "outcome, turns": ("reward=outcome", "turn_credit=true"),
    "deepeyes": ("reward=deepeyes", "turn_credit=false"),
    "deepeyes, turns": ("reward=deepeyes", "turn_credit=true"),
}
"""The first of them also imitates; the others start from its imitation."""

SHOWN_BY_DEFAULT = (BASE, "adaptive", "outcome", "deepeyes")


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=SHOWN_BY_DEFAULT, out=Path("runs/codedance_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    print(rewards_table(rows))
    print()
    print(entropy_table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = None if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    report = train("codedance:tiny", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: stage for stage in report["stages"]}
    row: Row = {"wall_s": report["wall_s"]}
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
        lines.append(
            f"| {name} | {pooled(hard)} | {by_seed(hard)} | {calls(hard)} | {turns(hard)} "
            f"| {pooled(easy)} | {calls(easy)} | {turns(easy)} | {success(hard + easy)} |"
        )
    return "\n".join(lines)


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


def at(rows: list[Row], name: str, step: int, key: str) -> str:
    mean = at_step([row["curve"] for row in rows if row["variant"] == name], step, key)
    return "-" if mean is None else f"{mean:.2f}"


if __name__ == "__main__":
    main()
