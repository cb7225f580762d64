"""Self-distillation with a privileged view against GRPO, from the same short imitation, at equal sampled tokens.

For each seed a first run imitates a careless expert, who mostly crops the middle and guesses; the variants start from
it and ask the same questions. Results are appended to results.jsonl in --out; what is there is not run again, and an
interrupted run goes on where it was.

The end point, chosen before any run: accuracy on 100 held-out questions (greedy) at the last measurement at which a
variant has sampled no more tokens than the one of its seed that sampled fewest had at its end.

python -m studies.distillation.seeds --seeds 0 1 2 --out runs/distillation --json studies/distillation/seeds.json
"""

from collections.abc import Sequence
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    directory_of,
    imitation_of,
    read,
    run_all,
    train,
    write_results,
)

BASE = "imitation"
ALONE = ("rl.algorithm.distill.weight=1", "rl.algorithm.distill.reward_weight=0")
VARIANTS: Variants = {
    BASE: ("rl.steps=0", "sft.steps=60"),
    "grpo": ("sft.steps=0",),
    "region": ("sft.steps=0", *ALONE),
    "region, whole": ("sft.steps=0", *ALONE, "rl.algorithm.distill.loss=reverse_kl"),
    "region and reward": ("sft.steps=0", "rl.algorithm.distill.weight=0.1"),
    "answer": ("sft.steps=0", *ALONE),
}
SHOWN = [BASE, "grpo", "region"]
GROUP, TASKS = 8, 8
SETTINGS = (
    *("rl.steps=30", "rl.evaluate_every=5", f"rl.tasks_per_step={TASKS}", f"rl.group_size={GROUP}"),
    *("evaluation_tasks=100", "curve_tasks=100"),
)
RECIPE = Path(__file__).with_name("recipe.py")


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=SHOWN, out=Path("runs/distillation"))
    arguments.overrides = [*SETTINGS, *arguments.overrides]
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str]) -> Row:
    """One run as a row of the results."""
    view = "answer" if variant == "answer" else "region"
    recipe = "look_closer" if variant in (BASE, "grpo") else f"{RECIPE}:{view}"
    start = None if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    directory = directory_of(variant, seed, out)
    report = train(recipe, seed, directory, settings, threads=threads, start=start)
    steps = [metric for metric in read(directory / "metrics.jsonl") if metric["stage"] == "rl"]
    tokens, curve = 0.0, []
    for one in steps:
        tokens += TASKS * GROUP * one["rollout/action_tokens"]
        curve.append(
            {
                "step": one["step"],
                "tokens": tokens,
                "accuracy": one.get("held_out/reward/accuracy"),
                "sampled": one.get("reward/accuracy"),
                "teacher_kl": one.get("teacher_kl"),
                "iou": one.get("held_out/look/iou"),
                "cpu_s": one.get("time/step_cpu_s"),
            }
        )
    return {"wall_s": report["wall_s"], "stages": report["stages"], "curve": curve}


def at_equal_tokens(rows: Sequence[Row], seed: int, variants: Sequence[str]) -> dict[str, Row]:
    """Of each variant of a seed its last measured point within the tokens of the one that sampled fewest."""
    curves = {row["variant"]: row["curve"] for row in rows if row["seed"] == seed and row["variant"] in variants}
    fewest = min(curve[-1]["tokens"] for curve in curves.values())
    return {
        name: [one for one in curve if one["accuracy"] is not None and one["tokens"] <= fewest][-1]
        for name, curve in curves.items()
    }


def table(rows: Sequence[Row]) -> str:
    """A Markdown table: for each seed the imitation, and each variant at equal sampled tokens."""
    variants = [name for name in VARIANTS if name != BASE and any(row["variant"] == name for row in rows)]
    lines = [f"| seed | imitation | {' | '.join(variants)} |", f"|---|---|{'---|' * len(variants)}"]
    for seed in sorted({row["seed"] for row in rows}):
        stages = next(row["stages"] for row in rows if (row["variant"], row["seed"]) == (BASE, seed))
        before = next(stage["accuracy"] for stage in stages if stage["name"] == "after_sft")
        points = at_equal_tokens(rows, seed, variants)
        cells = [f"{points[name]['accuracy']:.0%} (step {points[name]['step']})" for name in variants]
        lines.append(f"| {seed} | {before:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
