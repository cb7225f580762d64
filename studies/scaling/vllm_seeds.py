"""CodeDance's miniature with the local engine, with vLLM, and on Ray's rollout workers, from the same imitation.

The first seed imitates and reinforces with the local engine; all others, vLLM and fleets reinforce from that imitation:
seeds are those of the reinforcement. "fleet" has two rollout workers, each with a sandbox of its own, in the local
engine (the extra `cluster`); "fleet, vllm" the same workers, each with a vLLM server of its own. Heads are 32 in place
of 16, as vLLM's CPU build has no smaller ones. Results are appended to results.jsonl in --out; what is there is not run
again, and an interrupted run goes on where it was.

SACCADE_VLLM_PYTHON=~/vllm/bin/python python -m studies.scaling.vllm_seeds --seeds 0 1 2 --set sft.steps=300 \
    --set rl.steps=10 --set rl.tasks_per_step=8 --set evaluation_tasks=160 --json studies/scaling/vllm_seeds.json
"""

import statistics
from functools import partial
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    read,
    run_all,
    train,
    write_results,
)

LOCAL = "local"
HEADS = ("size.heads=2", "size.kv_heads=1")
VLLM = "engine.kind=vllm"
FLEET = "fleet.rollouts=2"
VARIANTS: Variants = {
    LOCAL: HEADS,
    "vllm": (*HEADS, VLLM),
    "fleet": (*HEADS, FLEET),
    "fleet, vllm": (*HEADS, FLEET, VLLM),
}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=(LOCAL, "vllm"), out=Path("runs/vllm_seeds"))
    rows = run_all(partial(run, arguments.seeds[0]), arguments, VARIANTS, base=LOCAL)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(first: int, variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    directory = directory_of(variant, seed, out)
    start = None if (variant, seed) == (LOCAL, first) else imitation_of(directory_of(LOCAL, first, out))
    report = train("codedance:tiny", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: stage for stage in report["stages"]}
    row: Row = {"wall_s": report["wall_s"]}
    for when, name in (("sft", "before"), ("rl", "after")):
        if f"after_{when}_easy" in stages:
            row[name] = {kind: stages[f"after_{when}_{kind}"] for kind in ("easy", "hard")}
    metrics = [metric for metric in read(directory / "metrics.jsonl") if metric["stage"] == "rl"]
    keys = ("step", "reward/accuracy", "rollout/failed", "action_tokens", "time/rollout_s")
    row["curve"] = [{key: metric.get(key) for key in keys} for metric in metrics]
    return row


def table(rows: list[Row]) -> str:
    """A Markdown table: right answers to held-out questions with Wilson 95 % intervals, pooled and by seed."""
    lines = ["| | hard: right | by seed | easy: right | by seed | rollout of a step |", "|---|---|---|---|---|---|"]
    groups = {"imitation alone": [row["before"] for row in rows if "before" in row]}
    groups |= {name: [row["after"] for row in rows if row["variant"] == name] for name in VARIANTS}
    for name, found in groups.items():
        if not found:
            continue
        hard, easy = [one["hard"] for one in found], [one["easy"] for one in found]
        steps = [point["time/rollout_s"] for row in rows if row["variant"] == name for point in row["curve"]]
        took = f"{statistics.median(steps):.1f} s" if steps else ""
        cells = (name, pooled(hard), by_seed(hard), pooled(easy), by_seed(easy), took)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
