"""What checkpoints answer in every family, drawn and of the gym: the same held-out questions, with the image tools.

OMP_NUM_THREADS=1 python -m studies.base_model.families --models base=DIR reading=DIR -n 20 --json FILE.json

Pictures that need an extra which is not installed are left out. A hit is a look that covers half of a region of the
evidence. The last line of the table is over all questions, with intervals over families.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from studies.gym.carry_over import LOAD, by_family, result_of
from studies.seed_runs import Row, write_results

from saccade.codec.codecs import plain_json
from saccade.evaluation.statistics import clustered_mean
from saccade.gym.extras import missing_modules
from saccade.gym.registry import gym_families
from saccade.media import MediaStore
from saccade.models import instruction_style, load_model
from saccade.protocols import tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.tasks import FAMILIES, generate
from saccade.tools import IMAGE_TOOLS
from saccade.train import Evaluate, Plan, run_plan
from saccade.types import Attempt, Task

MAX_TURNS = 5
DIFFICULTY = 0.25


@dataclass(frozen=True, kw_only=True)
class FamiliesSettings:
    """Of a run's record."""

    questions: int


def drawable() -> list[str]:
    gym = [name for name, family in gym_families().items() if not any(map(missing_modules, family.renderers))]
    return [*FAMILIES, *gym]


def played(model: Path, tasks: list[Task], media: MediaStore, seed: int) -> list[Row]:
    """What was right and looked at, task by task, greedily."""
    limits = RolloutSettings(max_turn_tokens=96, max_tokens=4096)
    protocol = tagged_protocol(style=instruction_style(model), max_turns=MAX_TURNS)
    episodes = EpisodeSpec(protocol=protocol, tools=IMAGE_TOOLS, rollout=limits, max_turns=MAX_TURNS)
    found: list[Attempt] = []
    stage = Evaluate(
        name="families", tasks=lambda: tasks, episodes=episodes, reward=OutcomeReward(), on_finished=found.extend
    )
    plan = Plan(
        title=f"{model.name} in every family",
        settings=FamiliesSettings(questions=len(tasks)),
        build_model=lambda: load_model(model, media, LOAD),
        load=LOAD,
        stages=(stage,),
    )
    with tempfile.TemporaryDirectory() as folder:
        run_plan(plan, out=Path(folder) / "run", seed=seed, media=media, threads=1)
    rows = map(result_of, found)
    return [row | {"hit": bool(row["hit"])} for row in rows]


def whole(tasks: list[Row], key: str) -> Row:
    return plain_json(clustered_mean([float(one[key]) for one in tasks], [one["family"] for one in tasks]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", required=True, metavar="NAME=DIR")
    parser.add_argument("-n", type=int, default=20, help="Questions of each family.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    media, families = MediaStore(), drawable()
    tasks = [
        generate(family, split="held_out", index=index, seed=options.seed, media=media, difficulty=DIFFICULTY).task
        for family in families
        for index in range(options.n)
    ]
    models = dict(one.split("=", 1) for one in options.models)
    rows = {name: played(Path(folder), tasks, media, options.seed) for name, folder in models.items()}
    of = {name: by_family(told) for name, told in rows.items()}
    print("| family |", " | ".join(f"{name}: right | hit" for name in rows), "|")
    print("|---|" + "---|" * (2 * len(rows)))
    for family in families:
        cells = [f"{100 * of[name][family][key] / options.n:.0f}" for name in rows for key in ("right", "hit")]
        print(f"| {family} |", " | ".join(cells), "|")
    summary = {name: {key: whole(told, key) for key in ("right", "hit")} for name, told in rows.items()}
    print(summary)
    if options.json:
        write_results(options.json, [{"model": name, **of[name]} for name in rows], all=summary)


if __name__ == "__main__":
    main()
