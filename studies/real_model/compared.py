"""The rewards of ``rewards.py`` on three kinds of questions, all about which of some numbers is the largest.

Which colour covers more pixels, which half is brighter, which channel has the largest mean: after imitation the program
prints the numbers and the model misreads them; a program that compares by itself is never shown. All variants of a
seed start from the imitation of ``rewards.py``. Named before the first run: the share of right answers among the
held-out questions after ten steps of 6 questions by 8 trajectories, paired by question with the imitation's.

python -m studies.real_model.questions --kinds more side channel --held-out 96 --out compared
python -m studies.real_model.compared --data compared --starts runs/rewards --seeds 0 1 --out runs/compared
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from studies.real_model.rewards import BASE, VARIANTS, reinforced, stages
from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    run_all,
    write_results,
)

SETTINGS = ("rl.steps=10", "rl.tasks_per_step=6")
EVIDENCE = ("rl.evidence.weight=0.5", "rl.evidence.form=difference", "rollout.probes_calls=true")
ALL: Variants = {**VARIANTS, "outcome, evidence": (*VARIANTS["outcome"], *EVIDENCE)}
"""The rewards, and the outcome with credit for calls that raise the right answer's probability. Named before its first
run: besides accuracy, how many of the held-out programs have an output that depends on the picture."""


def main() -> None:
    needed = {"--data": "What studies.real_model.questions wrote with --kinds."}
    starts, out = Path("runs/rewards"), Path("runs/compared")
    arguments = arguments_of(__doc__, ALL, shown=list(ALL), out=out, starts=starts, needed=needed)
    rows = run_all(partial(run, starts=arguments.starts, data=arguments.data), arguments, ALL, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str], *, starts: Path, data: Path) -> Row:
    """One run as a row of the results, from the imitation of the other benchmark."""
    start, directory = imitation_of(directory_of(BASE, seed, starts)), directory_of(variant, seed, out)
    return reinforced(directory, seed, threads, [*settings, *SETTINGS], start=start, data=data)


def table(rows: Sequence[Row]) -> str:
    """A Markdown table: the imitation, and for each reward the end and its change, paired by question, of each seed."""
    before = next(found for variant in ALL if (found := stages(rows, "before", variant)))
    lines = ["| | right | by seed | change of each seed |", "|---|---|---|---|"]
    lines.append(f"| imitation | {pooled(before)} | {by_seed(before)} | |")
    for variant in ALL:
        found = stages(rows, "after_rl", variant)
        if found:
            changes = [change for row in rows if row["variant"] == variant for change in row["comparisons"]]
            told = ", ".join(
                f"{change['difference']:+.0%} ({change['ci95'][0]:+.0%} to {change['ci95'][1]:+.0%})"
                for change in changes
            )
            lines.append(f"| {variant} | {pooled(found)} | {by_seed(found)} | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
