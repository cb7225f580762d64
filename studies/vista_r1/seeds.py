"""VISTA-R1 in miniature, for several seeds: stages (the paper's Figure 4a and 7), algorithms (4b), rewards (4c), one
type of task or of tools against all (4d, 4e), and training without tools or without thoughts (Table 2).

For each seed the tiny recipe imitates once and reinforces; each other variant starts from that imitation or, for the
tail patch, from that reinforcement, but for training without tools and without thoughts, which imitate on their own.
Results are appended to results.jsonl in --out; what is there is not run again, and an interrupted run goes on where
it was.

python -m studies.vista_r1.seeds --seeds 0 1 2 --at-once 2 --json studies/vista_r1/seeds.json
"""

from collections import Counter
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

from saccade.codec.codecs import plain_json

BASE = "rl"
TAIL = {
    "tail patch": ("stages=tail",),
    "as many steps on all questions": ("stages=tail", "tail.easy_to_hard=false"),
}
"""From the base's own last checkpoint."""

OWN_IMITATION = {
    "without tools": ("stages=sft,rl", "with_tools=false"),
    "without thoughts": ("stages=sft,rl", "reasoning=false"),
}

UNSCALED = {
    "sum, not divided": ("stages=rl", "rl.algorithm.scale_by_std=false"),
    "difficulty, not divided": ("stages=rl", "reward=difficulty", "rl.algorithm.scale_by_std=false"),
}
"""A weight that a whole group shares has no effect where advantages are divided by the group's standard deviation."""

VARIANTS: Variants = {
    BASE: ("stages=sft,rl", "rl.evaluate_every=10"),
    "ppo": ("stages=rl", "rl.algorithm.name=ppo", "rl.algorithm.critic.learning_rate=3e-3"),
    "dapo": ("stages=rl", "rl.algorithm.name=dapo"),
    "dense": ("stages=rl", "reward=dense"),
    "sparse": ("stages=rl", "reward=sparse"),
    "difficulty": ("stages=rl", "reward=difficulty"),
    **TAIL,
    **OWN_IMITATION,
    "charts alone": ("stages=rl", "task_types=chart"),
    "geometry alone": ("stages=rl", "task_types=geometry"),
    "chart tools alone": ("stages=rl", "tool_families=charts"),
    "solvers alone": ("stages=rl", "tool_families=solvers"),
    **UNSCALED,
}
"""The most important first."""

KEPT = ("accuracy", "ci95", "n", "families", "format_rate", "tool_rate", "turns_mean", "tools")
CURVE = ("reward/accuracy", "reward/format", "rollout/turns", "held_out/reward/accuracy", "rollout/tool_rate")

TABLES = {
    "Stages (Figures 4a, 7)": {"imitation": (BASE, "after_sft"), "imitation, then reinforcement": (BASE, "after_rl")}
    | {f"... then {name}": (name, "after_tail") for name in TAIL},
    "Algorithms (Figure 4b)": {"grpo": (BASE, "after_rl"), "ppo": ("ppo", "after_rl"), "dapo": ("dapo", "after_rl")},
    "Rewards (Figure 4c)": {"sum (the paper's)": (BASE, "after_rl")}
    | {name: (name, "after_rl") for name in ("dense", "sparse", "difficulty", *UNSCALED)},
    "Tasks of the reinforcement (Figure 4d)": {"all seven": (BASE, "after_rl")}
    | {name: (name, "after_rl") for name in ("charts alone", "geometry alone")},
    "Tools of the reinforcement (Figure 4e)": {"all": (BASE, "after_rl")}
    | {name: (name, "after_rl") for name in ("chart tools alone", "solvers alone")},
    "Tools and reasoning (Table 2)": {
        "made from nothing": (BASE, "before"),
        "tools and thoughts": (BASE, "after_rl"),
        "tools and thoughts, imitation alone": (BASE, "after_sft"),
        "without tools": ("without tools", "after_rl"),
        "without tools, imitation alone": ("without tools", "after_sft"),
        "without thoughts": ("without thoughts", "after_rl"),
        "without thoughts, imitation alone": ("without thoughts", "after_sft"),
    },
}
"""By heading: what a row shows, its variant and evaluation."""


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/vista_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE, variants_first=True)
    for heading, shown in TABLES.items():
        print(f"### {heading}\n\n{table(rows, shown)}\n")
    print(f"### Calls\n\n{calls_table(rows)}\n")
    print(f"### Kinds of errors of wrong answers (Figure 6)\n\n{errors_table(rows)}\n")
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory, base = directory_of(variant, seed, out), directory_of(BASE, seed, out)
    start = None
    if variant in TAIL:
        start = sorted((base / "checkpoints").glob("rl-*"))[-1]
    elif variant != BASE and variant not in OWN_IMITATION:
        start = imitation_of(base)
    report = train("vista_r1:tiny", seed, directory, settings, threads=threads, start=start)
    metrics = read(directory / "metrics.jsonl")
    return {
        "wall_s": report["wall_s"],
        "stages": {stage["name"]: {key: stage.get(key) for key in KEPT} for stage in report["stages"]},
        "errors": {stage["name"]: errors(directory, stage["name"]) for stage in report["stages"]},
        "calls": {stage["name"]: calls(directory, stage["name"]) for stage in report["stages"]},
        "pass_rates": histogram(directory),
        "training": [
            {"step": one["step"], **{key: one[key] for key in CURVE if key in one}}
            for one in metrics
            if one["stage"] in ("rl", "tail")
        ],
    }


def errors(directory: Path, evaluation: str) -> Row:
    """The rules' kinds of errors of an evaluation, of wrong trajectories and of all."""
    from saccade.evaluation.errors import find_errors
    from saccade.miniature.gym import gym_tools
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths

    specs = [tool.spec for tool in gym_tools().values()]
    attempts = read_records(RunPaths(root=directory).evaluation(evaluation))
    return plain_json(find_errors(attempts, specs))


def calls(directory: Path, evaluation: str) -> dict[str, dict[str, int]]:
    """How often each tool was called in an evaluation, by type of question."""
    from saccade.miniature.gym import TASK_TYPES
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.types import ToolCall

    types = {family: name for name, family in TASK_TYPES.items()}
    counts: dict[str, Counter[str]] = {name: Counter() for name in TASK_TYPES}
    for attempt in read_records(RunPaths(root=directory).evaluation(evaluation)):
        called = [turn.action.name for turn in attempt.trajectory.turns if isinstance(turn.action, ToolCall)]
        counts[types[attempt.task.family]].update(called)
    return {name: dict(found.most_common()) for name, found in counts.items()}


def histogram(directory: Path) -> dict[str, int]:
    """How many training questions have which pass rate, where a run measured them."""
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.tasks.tail_patch import pass_rates

    path = RunPaths(root=directory).evaluation("pass_rates")
    rates = sorted(pass_rates(read_records(path)).values()) if path.is_file() else []
    return {f"{rate:g}": rates.count(rate) for rate in dict.fromkeys(rates)}


def of(rows: Sequence[Row], variant: str) -> list[Row]:
    return [row for row in rows if row["variant"] == variant]


def table(rows: Sequence[Row], shown: dict[str, tuple[str, str]]) -> str:
    """All questions with their interval, seed by seed, each type's mean over seeds, calls."""
    from saccade.miniature.gym import TASK_TYPES

    types = {family: name for name, family in TASK_TYPES.items()}
    lines = [f"| | right | by seed | {' | '.join(TASK_TYPES)} | with calls | turns |", "|---" * 12 + "|"]
    for label, (variant, stage) in shown.items():
        if not (found := [row["stages"][stage] for row in of(rows, variant)]):
            continue
        by_type = {types[name]: mean([one["families"][name]["accuracy"] for one in found]) for name in types}
        cells = [f"{by_type[name]:.0%}" for name in TASK_TYPES]
        calls, turns = mean([one["tool_rate"] for one in found]), mean([one["turns_mean"] for one in found])
        lines.append(
            f"| {label} | {pooled(found)} | {by_seed(found)} | {' | '.join(cells)} | {calls:.0%} | {turns:.2f} |"
        )
    return "\n".join(lines)


def calls_table(rows: Sequence[Row]) -> str:
    """Calls of each tool in a question of its type, over all seeds, before and after reinforcement."""
    from saccade.miniature.gym import TASK_TYPES

    base, lines = of(rows, BASE), ["| | after imitation | after reinforcement |", "|---|---|---|"]
    for name, family in TASK_TYPES.items():
        cells = []
        for stage in ("after_sft", "after_rl"):
            total = sum((Counter(row["calls"][stage][name]) for row in base), Counter[str]())
            asked = sum(row["stages"][stage]["families"][family]["n"] for row in base)
            cells.append(", ".join(f"`{tool}` {count / asked:.2f}" for tool, count in total.most_common()) or "none")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def errors_table(rows: Sequence[Row]) -> str:
    """Shares of wrong trajectories with each kind of error that a rule finds, over all seeds."""
    lines: list[str] = []
    for label, (variant, stage) in TABLES["Stages (Figures 4a, 7)"].items():
        found = [row["errors"][stage] for row in of(rows, variant)]
        if not found:
            continue
        kinds = list(found[0]["of_wrong"])
        if not lines:
            lines = [f"| | wrong | {' | '.join(kinds)} |", "|---" * (2 + len(kinds)) + "|"]
        wrong = sum(one["wrong"] for one in found)
        cells = [f"{sum(one['of_wrong'][kind] for one in found) / max(1, wrong):.0%}" for kind in kinds]
        lines.append(f"| {label} | {wrong} | {' | '.join(cells)} |")
    return "\n".join(lines)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
