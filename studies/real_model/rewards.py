"""The rewards of CodeDance's Table 3 and its turn signal on a real model, for several seeds.

For each seed a first run imitates the shown solutions and reinforces; the other variants start from that imitation.
Results are appended to results.jsonl in --out; what is there is not run again, and an interrupted run goes on where it
was.

python -m studies.real_model.rewards --start coder05 --data pixels --seeds 0 1 --threads 2 --out runs/rewards
"""

import functools
import statistics
from collections.abc import Sequence
from pathlib import Path

from studies.real_model.questions import NEVER, SHOWN
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

BASE = "adaptive, turns"
VARIANTS: Variants = {
    BASE: ("reward=adaptive", "turn_credit=true"),
    "outcome": ("reward=outcome", "turn_credit=false"),
    "adaptive": ("reward=adaptive", "turn_credit=false"),
    "deepeyes": ("reward=deepeyes", "turn_credit=false"),
}
"""The first of them also imitates; the others start from its imitation."""
CONFIG = Path(__file__).with_name("codedance.yaml")


def main() -> None:
    needed = {"--start": "The checkpoint that learns.", "--data": "What studies.real_model.questions wrote."}
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/rewards"), needed=needed)
    rows = run_all(functools.partial(run, model=arguments.start, data=arguments.data), arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str], *, model: Path, data: Path) -> Row:
    """One run as a row of the results."""
    shown = [f"sft_data={data / 'examples.jsonl'}"]
    if variant != BASE:
        model, shown = imitation_of(directory_of(BASE, seed, out)), []
    return reinforced(directory_of(variant, seed, out), seed, threads, [*settings, *shown], start=model, data=data)


def reinforced(directory: Path, seed: int, threads: int, settings: Sequence[str], *, start: Path, data: Path) -> Row:
    """What a run of ``codedance.yaml`` from a checkpoint measured, and its curve."""
    options = ["--config", str(CONFIG), "--data", str(data / "train.jsonl")]
    options += ["--held-out", str(data / "held_out.jsonl")]
    report = train("codedance", seed, directory, settings, threads=threads, start=start, options=options)
    return row_of(directory, report)


def row_of(directory: Path, report: Row) -> Row:
    """What a run of reinforcement measured before and after it, and its curve."""
    metrics = [metric for metric in read(directory / "metrics.jsonl") if metric["stage"] == "rl"]
    keys = ("step", "reward/accuracy", "entropy", "rollout/turns", "rollout/action_tokens", "calls/mean")
    keys += ("calls/success_rate", "time/step_cpu_s")
    return {
        "wall_s": report["wall_s"],
        "stages": report["stages"],
        "comparisons": report["comparisons"],
        "right": {name: right_answers(directory, name) for name in ("before", "after_rl")},
        "curve": [{key: metric.get(key) for key in keys} for metric in metrics],
    }


def right_answers(directory: Path, evaluation: str) -> str:
    """1 or 0 for each question of an evaluation, in the order of their names: variants are paired by question."""
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths

    found = {one.task.id: one.trajectory.score for one in read_records(RunPaths(root=directory).evaluation(evaluation))}
    return "".join("1" if score is not None and score.is_right else "0" for _, score in sorted(found.items()))


def table(rows: Sequence[Row]) -> str:
    """A Markdown table of held-out questions: right ones, of kinds shown, only practised or neither, and calls."""
    lines = ["| | right | by seed | kinds shown | practised alone | neither | calls | runs without an error |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    groups = {"untrained": stages(rows, "before", BASE), "imitation": stages(rows, "after_sft", BASE)}
    groups |= {name: stages(rows, "after_rl", name) for name in VARIANTS}
    for name, found in groups.items():
        if found:
            calls = statistics.mean(stage["tools"]["calls_mean"] for stage in found)
            rates = [rate for stage in found if (rate := stage["tools"]["success_rate"]) is not None]
            kinds = [[part for stage in found for part in parts(stage, of)] for of in ("shown", "practised", "neither")]
            lines.append(
                f"| {name} | {pooled(found)} | {by_seed(found)} | {' | '.join(map(pooled, kinds))} | {calls:.2f} "
                f"| {f'{statistics.mean(rates):.0%}' if rates else '-'} |"
            )
    return "\n".join(lines)


def stages(rows: Sequence[Row], name: str, variant: str) -> list[Row]:
    """The measurements of that name of one variant."""
    found = [stage for row in rows if row["variant"] == variant for stage in row["stages"]]
    return [stage for stage in found if stage["name"] == name]


def parts(stage: Row, group: str) -> list[Row]:
    """The measurements of one group of kinds of questions: ``shown``, ``practised`` or ``neither``."""
    group_of = dict.fromkeys(SHOWN, "shown") | dict.fromkeys(NEVER, "neither")
    return [part for kind, part in stage["families"].items() if group_of.get(kind, "practised") == group]


if __name__ == "__main__":
    main()
