"""Training in environments: success on held-out episodes, before and after, with several seeds.

python -m studies.environments.seeds --cases minigrid guess --seeds 0 1 2 --json studies/environments/seeds.json
python -m studies.environments.seeds --cases tiles tiles-caption tiles-words tiles-nothing tiles-caption-rules
python -m studies.environments.seeds --cases tiles-caption-group tiles-caption-gspo tiles-caption-slow    # after those
python -m studies.environments.seeds --cases verifiers --python envs/verifiers/bin/python    # docs/environments.md
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from studies.claims.paired import paired_change
from studies.seed_runs import imitation_of

from saccade.codec.codecs import plain_json
from saccade.evaluation.sample_files import read_samples, sample_files
from saccade.evaluation.statistics import clustered_mean

STAGES = {"before": "at the start", "after_sft": "after imitation", "after_rl": "after RL"}

SUMS = {"gym": "aiw", "num_train_examples": 2000, "num_eval_examples": 64, "system_prompt": "Answer."}
"""The generator of verifiers' integration of reasoning-gym: how many sisters somebody has."""

FORM = (
    *("--set", "show.form=text", "--set", "rollout.max_turn_tokens=4", "--set", "reward.invalid_penalty=0.05"),
    *("--set", "sft.steps=200", "--set", "sft.batch_size=4", "--set", "sft.optimizer.learning_rate=2e-3"),
    *("--set", "rl.optimizer.learning_rate=1e-3"),
)
"""Random play is imitated until nearly every turn is an action; with fewer steps reinforcement learns the form only."""

SHOWN: dict[str, tuple[str, ...]] = {
    "": (),
    "-caption": ("--set", 'environment.arguments={"caption": true}'),
    "-words": ("--set", 'environment.arguments={"caption": true}', "--set", "environment.pictures=none"),
    "-nothing": ("--set", "environment.pictures=none"),
}
"""What a policy is shown: the picture, a caption beside it, the caption alone, or the goal alone."""
RULES = ("--set", "show.rules_each_turn=true")
LEARNED: dict[str, tuple[str, ...]] = {
    "-group": ("--set", "credit.weight=0", "--set", "credit.group_weight=1"),
    "-gspo": ("--set", "rl.algorithm.name=gspo"),
    "-slow": ("--set", "rl.optimizer.learning_rate=1e-4"),
}
"""What else is changed in reinforcement where a caption stands beside the picture; imitation is of that case."""
TILES = (
    *("--env", "gym:slide_tiles?clutter=0&moves=0", "--model", "saccade:gym"),
    *("--set", "rollout.max_turn_tokens=24", "--set", "rollout.max_tokens=4096", "--set", "max_turns=12"),
    *("--set", "held_out=256", "--set", "sft.steps=600", "--set", "rl.steps=30"),
)
"""Three by three tiles, four moves from order: an expert's play is imitated, then rewards are followed."""
CAPTION = "tiles-caption"


def tiles_cases() -> dict[str, tuple[str, ...]]:
    shown = {f"tiles{name}": (*TILES, *how) for name, how in SHOWN.items()}
    beside = (*TILES, *SHOWN["-caption"])
    learned = {f"{CAPTION}{name}": (*beside, *how, "--set", "sft.steps=0") for name, how in LEARNED.items()}
    return shown | learned | {f"{CAPTION}-rules": (*beside, *RULES)}


CASES: dict[str, tuple[str, ...]] = {
    "minigrid": (
        *("--env", "gymnasium:MiniGrid-Empty-Random-5x5-v0", *FORM),
        *("--set", "rl.steps=80", "--set", "max_turns=12", "--set", "credit.discount=0.9"),
    ),
    "guess": (
        *("--env", "textarena:GuessTheNumber-v0", *FORM),
        *("--set", "environment.action_names=" + ",".join(map(str, range(1, 21)))),
        *("--set", "show.rules=Guess the number from 1 to 20."),
        *("--set", "rl.steps=60", "--set", "max_turns=10", "--set", "credit.discount=1"),
    ),
    "verifiers": (
        *("--env", "verifiers:verifiers.envs.integrations.reasoninggym_env:ReasoningGymEnv", *FORM),
        *("--set", f"environment.arguments={json.dumps(SUMS)}", "--set", "max_turns=1"),
        *("--set", "environment.action_names=" + ",".join(f"<answer>{number}</answer>" for number in range(1, 10))),
        *("--set", "rl.steps=60", "--set", "rollout.max_turn_tokens=6"),
    ),
    **tiles_cases(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=["minigrid", "guess"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--python", type=Path, help="The Python of verifiers.")
    parser.add_argument("--out", type=Path, default=Path("runs/environments"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    elsewhere = [] if arguments.python is None else [f"environment.python={arguments.python}"]
    rows = [
        run(case, seed, arguments.out, [*(elsewhere if case == "verifiers" else []), *arguments.overrides])
        for case in arguments.cases
        for seed in arguments.seeds
    ]
    print(
        "| case | seed | " + " | ".join(STAGES.values()) + " | processor min |\n|---|---|" + "---|" * (len(STAGES) + 1)
    )
    for row in rows:
        print(
            f"| {row['case']} | {row['seed']} | "
            + " | ".join(cell(row, name) for name in STAGES)
            + f" | {row['processor_s'] / 60:.1f} |"
        )
    print(changes(rows))
    if arguments.json:
        result = {
            "command": "python -m studies.environments.seeds " + " ".join(sys.argv[1:]),
            "date": date.today().isoformat(),
            "runs": rows,
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def run(case: str, seed: int, out: Path, overrides: Sequence[str]) -> dict[str, object]:
    """One run, resumed if it was interrupted; one that ended before is not run again."""
    directory = out / f"{case}-{seed}"
    kept = directory / "row.json"
    if kept.is_file():
        return {**json.loads(kept.read_text(encoding="utf-8")), "stages": stages(directory)}
    command = [sys.executable, "-m", "saccade", "train", "environment:tiny", "--seed", str(seed), *CASES[case]]
    command += [word for override in overrides for word in ("--set", override)]
    start = f"{CAPTION}-{seed}" if case.removeprefix(CAPTION) in LEARNED else ""
    if start:
        command += ["--model", str(imitation_of(out / start))]
    command += ["--out", str(directory), "--threads", "1", "--quiet", "--resume"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = {
        "case": case,
        "seed": seed,
        "settings": [*CASES[case], *overrides],
        "start": start and f"the imitation of {start}",
        "processor_s": round(spent, 1),
    }
    kept.write_text(json.dumps(row), encoding="utf-8")
    return {**row, "stages": stages(directory)}


def stages(directory: Path) -> list[dict[str, object]]:
    """The evaluations of a run: successes as in its report, and the mean return of an episode with its interval."""
    report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    files = sample_files(directory)
    found = []
    for stage in report["stages"]:
        samples = read_samples(files[stage["name"]]).samples
        scored = [sample for sample in samples if sample.score is not None]
        returns = clustered_mean(
            [sample.score or 0.0 for sample in scored], [sample.id for sample in scored], is_share=False
        )
        kept = {key: stage[key] for key in ("name", "accuracy", "ci95", "n", "turns_mean")}
        found.append({**kept, "return": plain_json(returns)})
    return found


def changes(rows: Sequence[dict[str, object]]) -> str:
    """Points by which RL changed each case and by which cases of boards differ, paired by seed, with 95 % intervals."""
    share = {
        (str(row["case"]), row["seed"], stage["name"]): 100 * stage["accuracy"]
        for row in rows
        for stage in row["stages"]  # type: ignore[attr-defined]
    }

    def line(what: str, after: Mapping[object, float], before: Mapping[object, float]) -> str:
        seeds = sorted(after.keys() & before.keys(), key=str)
        if len(seeds) < 2:
            return ""
        change = paired_change([after[seed] - before[seed] for seed in seeds])
        return f"{what}: {change.mean:+.1f} ({change.low:+.1f} to {change.high:+.1f})"

    def of(case: str, stage: str) -> dict[object, float]:
        return {seed: value for (name, seed, told), value in share.items() if (name, told) == (case, stage)}

    cases = sorted({case for case, _, _ in share})
    starts = {case: of(case, "after_sft") or of(case, "before") for case in cases}
    others = [case for case in cases if case.startswith("tiles") and case != CAPTION]
    lines = [line(f"{case}, RL less its start", of(case, "after_rl"), starts[case]) for case in cases]
    for case in others:
        if case.removeprefix(CAPTION) not in LEARNED:
            lines.append(line(f"{case} less {CAPTION}, imitation", starts[case], starts.get(CAPTION, {})))
        lines.append(line(f"{case} less {CAPTION}, RL", of(case, "after_rl"), of(CAPTION, "after_rl")))
    return "\n".join(filter(None, lines))


def cell(row: dict[str, object], name: str) -> str:
    """Share of successes with its Wilson 95 % interval, and the mean return."""
    of = row["stages"]
    assert isinstance(of, list)
    stage = next((stage for stage in of if stage["name"] == name), None)
    if stage is None:
        return "-"
    low, high = stage["ci95"]
    mean, ends = stage["return"]["mean"], stage["return"]["ci95"]
    return f"{stage['accuracy']:.1%} ({low:.1%} to {high:.1%}), returns {mean:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"


if __name__ == "__main__":
    main()
