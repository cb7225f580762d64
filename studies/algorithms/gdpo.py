"""GDPO beside the sum of the reward's terms, for papers whose reward has several.

For each paper and seed the tiny recipe imitates once and reinforces by the sum, as the paper has it; the same
reinforcement with ``rl.algorithm.advantages=gdpo`` starts from that imitation. Named before the first run: held-out
accuracy in the evaluation that the paper's own study reads, paired by seed.

python -m studies.algorithms.gdpo --seeds 0 1 2 --out runs/gdpo --json studies/algorithms/gdpo.json
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from studies.seed_runs import Row, Variants, arguments_of, directory_of, imitation_of, run_all, train, write_results

SUM = "sum"
PAPERS = {"ivgr": "after_rl_textual", "codedance": "after_rl_hard", "argos": "after_rl"}
"""The evaluation that is read of each recipe PAPER:tiny."""
BASES: Variants = {f"{paper}, {SUM}": () for paper in PAPERS}
VARIANTS: Variants = {**BASES, **{f"{paper}, gdpo": ("rl.algorithm.advantages=gdpo",) for paper in PAPERS}}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/gdpo"))
    asked: list[str] = arguments.variants
    rows: list[Row] = []
    for paper in PAPERS:
        arguments.variants = [one for one in asked if one.startswith(f"{paper},")]
        if arguments.variants:
            rows += run_all(run, arguments, VARIANTS, base=f"{paper}, {SUM}")
            print(table(rows), flush=True)
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str]) -> Row:
    """One run as a row of the results."""
    paper, _, how = variant.partition(", ")
    directory = directory_of(variant, seed, out)
    start = None if how == SUM else imitation_of(directory_of(f"{paper}, {SUM}", seed, out))
    report = train(f"{paper}:tiny", seed, directory, settings, threads=threads, start=start)
    kept = ("name", "accuracy", "ci95", "n", "reward_mean", "tool_rate", "format_rate")
    stages = [{key: stage.get(key) for key in kept} for stage in report["stages"]]
    return {"wall_s": report["wall_s"], "stages": stages}


def table(rows: Sequence[Row]) -> str:
    """A Markdown table: accuracy by seed of both, and the mean difference with its standard error over seeds."""
    lines = ["| paper | sum | gdpo | difference, points |", "|---|---|---|---|"]
    for paper, stage in PAPERS.items():
        of = {how: accuracies(rows, f"{paper}, {how}", stage) for how in (SUM, "gdpo")}
        both = sorted(of[SUM].keys() & of["gdpo"].keys())
        if both:
            changes = [100 * (of["gdpo"][seed] - of[SUM][seed]) for seed in both]
            spread = statistics.stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else float("nan")
            cells = [", ".join(f"{of[how][seed]:.1%}" for seed in both) for how in (SUM, "gdpo")]
            lines.append(f"| {paper} | {cells[0]} | {cells[1]} | {statistics.mean(changes):+.1f} ± {spread:.1f} |")
    return "\n".join(lines)


def accuracies(rows: Sequence[Row], variant: str, stage: str) -> dict[int, float]:
    """Of one variant in one evaluation, by seed."""
    return {
        row["seed"]: one["accuracy"]
        for row in rows
        if row["variant"] == variant
        for one in row["stages"]
        if one["name"] == stage
    }


if __name__ == "__main__":
    main()
