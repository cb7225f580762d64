"""Argos in miniature, for several seeds: what outcome alone and what the verifier make of grounding and accuracy (the
paper's Figure 4), parts left out (Tables 6 to 8), readings that can be hacked, and wrong regions.

For each seed the tiny recipe imitates once and reinforces with the whole reward; each other variant starts from that
imitation. "no habits" has an imitation of its own, from careful experts alone. Results are appended to results.jsonl
in --out; what is there is not run again, and an interrupted run goes on where it was.

python -m studies.argos.seeds --seeds 0 1 2 --at-once 2 --json studies/argos/seeds.json
"""

import statistics
from collections.abc import Sequence
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

BASE = "verifier"
OUTCOME = ("reward.grounding_weight=0", "reward.reasoning_weight=0")
CAREFUL = ("lessons.bare_share=0", "lessons.elsewhere_share=0", "lessons.contradiction_share=0")
PARTS: Variants = {
    BASE: (),
    "without reasoning": ("reward.reasoning_weight=0",),
    "without grounding": ("reward.grounding_weight=0",),
    "outcome alone": OUTCOME,
}
"""The whole reward; "- RQ"; the paper's last row takes both away."""
NOISE: Variants = {
    f"{share}% wrong, {form}": (f"wrong_regions=0.{share}", f"reward.aggregation={form}")
    for share in (10, 30)
    for form in ("gate", "sum")
}
OPEN: Variants = {
    "repeats pay": ("forms.distinct=false",),
    "silence pays": ("forms.selected_by=response",),
    "plain sum": ("reward.aggregation=sum",),
}
CLEAN = "no habits, verifier"
SHORT = "a quarter of the imitation"
FRESH: Variants = {
    CLEAN: CAREFUL,
    "no habits, outcome alone": (*CAREFUL, *OUTCOME),
    SHORT: ("sft.steps=400", "rl.steps=1"),
}
"""The first and the last imitate, the second starts from the first."""
TEACHERS: Variants = {
    f"{kind} teacher": ("reward.grounding_weight=0", "forms.keeps_points=true") for kind in ("better", "equal", "worse")
}
"""Reasoning alone, by a checkpoint: of careful experts, of the policy's own imitation, of a quarter of it."""
PUPILS = {"better teacher": CLEAN, "equal teacher": BASE, "worse teacher": SHORT}
NEEDS = {"no habits, outcome alone": CLEAN, "better teacher": CLEAN, "worse teacher": SHORT}

VARIANTS = {**PARTS, **NOISE, **OPEN, **FRESH, **TEACHERS}
KINDS = {"trained on": "", "more plates": "_more", "relations": "_relation", "absent": "_absent", "counts": "_count"}
KEPT = ("accuracy", "ci95", "n", "format_rate", "pointing")
CURVE = {
    "accuracy": "held_out/reward/accuracy",
    "grounding": "held_out/noted/grounding",
    "points": "held_out/noted/points",
    "no_points": "held_out/noted/no_points",
}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/argos_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE, needs=NEEDS)
    print(f"{curve_table(rows)}\n\n{table(rows)}\n")
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory = directory_of(variant, seed, out)
    imitator = {SHORT: SHORT, **dict.fromkeys(list(FRESH)[:2], CLEAN)}.get(variant, BASE)
    start = None if variant == imitator else imitation_of(directory_of(imitator, seed, out))
    if variant in TEACHERS:
        settings = [*settings, f"teacher={teacher_of(variant, seed, out)}"]
    report = train("argos:tiny", seed, directory, settings, threads=threads, start=start)
    curve = [
        {"step": row["step"], **{name: row.get(key) for name, key in CURVE.items()}}
        for row in read(directory / "metrics.jsonl")
        if CURVE["accuracy"] in row
    ]
    stages = {stage["name"]: {key: stage.get(key) for key in KEPT} for stage in report["stages"]}
    return {"wall_s": report["wall_s"], "stages": stages, "curve": curve}


def teacher_of(variant: str, seed: int, out: Path) -> Path:
    """The checkpoint that a variant of ``TEACHERS`` is judged by."""
    return imitation_of(directory_of(PUPILS[variant], seed, out))


def of(rows: Sequence[Row], variant: str) -> list[Row]:
    return [row for row in rows if row["variant"] == variant]


def curve_table(rows: Sequence[Row]) -> str:
    """Grounding and accuracy on questions trained on, over the steps: means over seeds."""
    steps = sorted({point["step"] for row in rows for point in row["curve"]})
    lines = [f"| variant | {' | '.join(f'step {step}' for step in steps)} |", "|---" * (len(steps) + 1) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        cells = []
        for step in steps:
            points = [one for row in of(rows, variant) for one in row["curve"] if one["step"] == step]
            grounding = [one["grounding"] for one in points if one["grounding"] is not None]
            accuracy = [one["accuracy"] for one in points if one["accuracy"] is not None]
            cells.append(f"{_share(grounding)}, {_share(accuracy)}")
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(rows: Sequence[Row]) -> str:
    """After reinforcement: accuracy (all seeds with Wilson's interval; each), and grounding accuracy of each seed."""
    lines = [f"| variant | {' | '.join(f'{kind}: accuracy; grounding' for kind in KINDS)} |"]
    lines.append("|---" * (len(KINDS) + 1) + "|")
    after_sft = [("imitation", "after_sft", of(rows, BASE))]
    others = [(name, "after_rl", of(rows, name)) for name in dict.fromkeys(row["variant"] for row in rows)]
    for name, when, found in [*after_sft, *others]:
        cells = []
        for suffix in KINDS.values():
            stages = [row["stages"][f"{when}{suffix}"] for row in found]
            cells.append(f"{pooled(stages)}: {by_seed(stages)}; {groundings(stages)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def groundings(stages: Sequence[Row]) -> str:
    found = [stage["pointing"]["accuracy"] for stage in stages if stage["pointing"]]
    return ", ".join("-" if value is None else f"{value:.0%}" for value in found)


def _share(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.0%}" if values else "-"


if __name__ == "__main__":
    main()
