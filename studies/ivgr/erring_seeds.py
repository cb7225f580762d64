"""iVGR in miniature where archive, threshold and agreement have something to do, for several seeds.

The cold start ends with experts who are always wrong somewhere: seven in ten look at another plate, the others answer
rightly but write a box and a place beside the plate. The judge knows no ground truth: what the reasoning with boxes
says is true to it, so a reference with a wrong place pays for saying that place. Groups are of five, as in the paper.
A judge that errs besides gives another value in a quarter of its verdicts, none in a tenth of them, and in a quarter of
the rest the next kinder value.

For each seed the recipe imitates once; every variant starts from that. Results are appended to results.jsonl in --out;
what is there is not run again, and an interrupted run goes on where it was.

python -m studies.ivgr.erring_seeds --seeds 0 1 2 --at-once 2 --json studies/ivgr/erring_seeds.json
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from studies.ivgr.seeds import KEPT, RUBRIC, miou, of, scores_of_words, true_words
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

START = "cold start"
LESSONS = (
    "lessons.careless_from=0.7",
    "lessons.loose_share=0",
    "lessons.elsewhere_share=0.7",
    "lessons.astray_share=0.3",
)
TOLD = ("rl.steps=60", "rl.group_size=5", "rl.evaluate_every=0", "test_time=false")
HERE = (*TOLD, "judge.knows_truth=false")
ERRING = ("judge.errors.wrong_share=0.25", "judge.errors.no_verdict_share=0.1", "judge.errors.bias=0.25")

VARIANTS: Variants = {
    START: (*LESSONS, "rl.steps=1", "rl.evaluate_every=0", "test_time=false"),
    "both, agreement, archive": HERE,
    "both, agreement": (*HERE, "reward.use_archive=false"),
    "both": (*HERE, "consistency=false"),
    "tau 0": (*HERE, "reward.tau=0"),
    "erring judge": (*HERE, *ERRING),
    "judge that knows the truth": TOLD,
    "tau 0.5": (*HERE, "reward.tau=0.5"),
    "erring judge, no archive": (*HERE, *ERRING, "reward.use_archive=false"),
    "grounded alone": (*HERE, "streams=grounded"),
}
"""The most important first. The cold start's own step of reinforcement is not used."""

TRAINED = ("step", "questions", "with_reference", "from_archive", "right", "asked", "no_verdict")
"""Written down of a step."""

SPANS = ((1, 20), (21, 60))
"""Steps: the first time that questions are asked, and afterwards, when the archive may know them."""


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/ivgr_erring_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=START, variants_first=True)
    for table in (accuracy_table, reference_table):
        print(f"{table(rows)}\n")
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = None if variant == START else imitation_of(directory_of(START, seed, out))
    report = train("ivgr:tiny", seed, directory, settings, threads=threads, start=start)
    when = "after_sft" if variant == START else "after_rl"
    stages = {stage["name"]: stage for stage in report["stages"] if stage["name"].startswith(when)}
    return {
        "wall_s": report["wall_s"],
        "stages": {name.removeprefix(f"{when}_"): {key: one.get(key) for key in KEPT} for name, one in stages.items()},
        "said": {"then": scores_of_words(directory, f"{when}_textual")},
        "training": [{key: step[key] for key in TRAINED} for step in report["two_streams"][0]["steps"]],
    }


def accuracy_table(rows: Sequence[Row]) -> str:
    """Right in words and with boxes, by seed, and how truly words or boxes say where things are."""
    lines = ["| | words: right | by seed | wholly true | boxes: right | by seed | where |", "|---" * 7 + "|"]
    for name in VARIANTS:
        if found := of(rows, name):
            cells = []
            for stream, where in (("textual", true_words(found, "then")), ("grounded", miou(found, "grounded"))):
                stages = [row["stages"][stream] for row in found]
                cells += [pooled(stages), by_seed(stages), where]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def reference_table(rows: Sequence[Row]) -> str:
    """How often there was a reference, how often only in the archive, and what the judge said of right answers."""
    head = [f"{what}, steps {first} to {last}" for what in ("reference", "archived") for first, last in SPANS]
    lines = [f"| | {' | '.join(head)} | {' | '.join(f'scored {value}' for value in RUBRIC)} |", "|---" * 9 + "|"]
    for name in VARIANTS:
        found = [row["training"] for row in of(rows, name)]
        if name == START or not found:
            continue
        shares = [
            share([step for steps in found for step in steps if first <= step["step"] <= last], part, whole)
            for part, whole in (("with_reference", "questions"), ("from_archive", "with_reference"))
            for first, last in SPANS
        ]
        late = [step["right"] for steps in found for step in steps if step["step"] >= SPANS[1][0]]
        scored = {value: sum(one[value] for one in late) for value in RUBRIC}
        cells = [f"{scored[value] / max(1, sum(scored.values())):.0%}" for value in RUBRIC]
        lines.append(f"| {name} | {' | '.join([*shares, *cells])} |")
    return "\n".join(lines)


def share(steps: Sequence[Row], part: str, whole: str) -> str:
    return f"{statistics.fsum(step[part] for step in steps) / max(1, sum(step[whole] for step in steps)):.0%}"


if __name__ == "__main__":
    main()
