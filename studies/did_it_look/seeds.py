"""Outcome alone beside credit for evidence, on a model that could look in the right place and does not.

The runs are those of ``look_closer``: imitation of a careless expert leaves the habit of cropping the middle and
guessing. For each seed the first variant imitates; the others start from there. Named before the first run: accuracy
and the share of faithful trajectories among 300 held-out questions after 12 steps of 8 questions by 8 trajectories,
where the outcome alone has not yet found out. In the variants "a guess pays" nine in ten training questions have one
answer (``guess_pays.py``); held out they are as before, and so are imitations and end point.

python -m studies.did_it_look.seeds --seeds 0 1 2 --out runs/evidence --json studies/did_it_look/seeds.json
"""

from collections.abc import Sequence
from pathlib import Path

from studies.algorithms.seeds import ALGORITHMS
from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    run_all,
    train,
    write_results,
)

from saccade.evaluation.statistics import wilson_interval
from saccade.rewards.evidence import evidence_of
from saccade.runs.records import read_records

BASE = "outcome"
GUESS = "a guess pays, "
JUDGED_RECIPE = f"{Path(__file__).with_name('colour_judge.py')}:judged"
GUESS_RECIPE = f"{Path(__file__).with_name('guess_pays.py')}:guess_pays"
_LESS = ("rl.steps=12", "rl.tasks_per_step=8", "rl.evaluate_every=4")
_FOUND = ("rl.evidence.weight=0.5", "rl.evidence.form=found")
_DIFFERENCE = ("rl.evidence.weight=0.5", "rl.evidence.form=difference", "rollout.probes_calls=true")
SAME = "outcome, same questions"
"""The first variant asks other questions than those that start from its imitation."""
BALANCED: Variants = {
    BASE: _LESS,
    SAME: _LESS,
    "found": (*_LESS, *_FOUND),
    "found, to turns": (*_LESS, *_FOUND, "rl.evidence.to=turns"),
    "judged": (*_LESS, "rl.evidence.weight=0.5", "rl.evidence.form=judged"),
    "difference": (*_LESS, *_DIFFERENCE),
    "difference, to turns": (*_LESS, *_DIFFERENCE, "rl.evidence.to=turns"),
}
PERCEPTION: Variants = {
    name: (*_LESS, *(f"rl.algorithm.{setting}" for setting in ALGORITHMS[name])) for name in ("PAPO", "VPPO")
}
"""Credit of another kind: for tokens that depend on the picture."""
GUESSED = {name: settings for name, settings in (BALANCED | PERCEPTION).items() if name != SAME}
VARIANTS: Variants = BALANCED | {GUESS + name: settings for name, settings in GUESSED.items()}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/evidence"))
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str]) -> Row:
    """One run as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = None
    if variant != BASE:
        start, settings = imitation_of(directory_of(BASE, seed, out)), [*settings, "sft.steps=0"]
    recipe = GUESS_RECIPE if variant.startswith(GUESS) else JUDGED_RECIPE if variant == "judged" else "look_closer"
    report = train(recipe, seed, directory, settings, threads=threads, start=start)
    stages = [stage | {"faithful": faithful(directory, stage["name"])} for stage in report["stages"]]
    return {"wall_s": report["wall_s"], "stages": stages}


def faithful(directory: Path, stage: str) -> int:
    """Trajectories of an evaluation that are faithful."""
    attempts = read_records(directory / "evaluations" / f"{stage}.jsonl")
    found = [evidence_of(one.task, one.trajectory) for one in attempts]
    return sum(one is not None and one.is_faithful for one in found)


def table(rows: Sequence[Row]) -> str:
    """A Markdown table: accuracy and faithful trajectories of each variant, all seeds together and one by one."""
    lines = ["| | right | by seed | faithful | by seed |", "|---|---|---|---|---|"]
    parts = {"with the habit": ("after_sft", BASE)} | {name: ("after_rl", name) for name in VARIANTS}
    for label, (name, variant) in parts.items():
        found = [stage for row in rows if row["variant"] == variant for stage in row["stages"] if stage["name"] == name]
        if found:
            seen, asked = sum(stage["faithful"] for stage in found), sum(stage["n"] for stage in found)
            low, high = wilson_interval(seen, asked)
            each = ", ".join(f"{stage['faithful'] / stage['n']:.0%}" for stage in found)
            share = f"{seen / asked:.1%} ({low:.1%} to {high:.1%})"
            lines.append(f"| {label} | {pooled(found)} | {by_seed(found)} | {share} | {each} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
