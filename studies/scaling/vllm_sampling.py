"""Whether vLLM and the local engine sample from the same distribution: many trajectories of a few questions by each.

    python -m studies.scaling.vllm_seeds --seeds 0 --variants local --set sft.steps=300 --set rl.steps=10 \
        --set rl.tasks_per_step=8 --set evaluation_tasks=160
    SACCADE_VLLM_PYTHON=~/vllm/bin/python python -m studies.scaling.vllm_sampling \
        --model runs/vllm_seeds/local-0/checkpoints/sft-000300 --json studies/scaling/vllm_sampling.json

Each engine's first turns are compared with what the policy itself says of them: a turn's exact probability is known
wherever it was sampled, by the sum of its log-probabilities, so that counts have expected values (Pearson's
chi-square; turns that are expected less than five times are one cell). Between the engines: use of code, right
answers, tokens, and how many different first turns a group of eight has, each with its standard error.
"""

import argparse
import json
import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import torch
from scipy.stats import chi2

from saccade.config import RecipeContext
from saccade.engines.engine import Engine, EngineContext
from saccade.media.store import MediaStore
from saccade.rewards.groups import score_attempts
from saccade.rollout.episodes import RolloutRequest
from saccade.seeding import seed_for
from saccade.train.engine_choice import plan_of
from saccade.train.fleet import play_here
from saccade.train.plan import RLStage
from saccade.train.recipe_loading import load_recipe
from saccade.types import Attempt, ToolCall
from saccade.waiting import run_to_end

HEADS = ("size.heads=2", "size.kv_heads=1")
GROUP = 8
LEAST = 5.0
"""Expected count of a cell of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """One trajectory, as the comparison needs it."""

    task: str
    first: tuple[int, ...]
    """Tokens of its first turn."""
    first_logprob: float
    used_tool: bool
    is_right: bool
    tokens: int
    turns: int
    failed: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="codedance:tiny")
    parser.add_argument("--model", type=Path, required=True, help="A checkpoint of the recipe's imitation.")
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--samples", type=int, default=64, help="Trajectories of each, a multiple of eight.")
    parser.add_argument("--engines", nargs="+", default=["local", "local, other seed", "vllm"])
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    found = {}
    for place, name in enumerate(arguments.engines):
        found[name] = sampled(name, place, arguments)
        print(f"{name}: {told(found[name])}", flush=True)
    result = {
        "command": "python -m studies.scaling.vllm_sampling " + " ".join(sys.argv[1:]),
        "date": date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, no GPU",
        "engines": {name: summary(rows) for name, rows in found.items()},
    }
    names = list(found)
    result["between"] = {
        f"{first} and {second}": between(found[first], found[second])
        for place, first in enumerate(names)
        for second in names[place + 1 :]
    }
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def sampled(name: str, seed: int, arguments: argparse.Namespace) -> list[Played]:
    """The first questions of the recipe's reinforcement, so many trajectories of each, group by group."""
    overrides = (*HEADS, *arguments.overrides, *(["engine.kind=vllm"] if name.startswith("vllm") else []))
    context = RecipeContext(model=arguments.model, overrides=overrides, media=MediaStore())
    plan = plan_of(load_recipe(arguments.recipe).function, context, logs=None)
    stage = next(one for one in plan.stages if isinstance(one, RLStage))
    rows: list[Played] = []
    with ExitStack() as stack:
        for resource in plan.resources:
            stack.enter_context(resource)
        model = plan.build_model()
        engine: Engine = plan.engine(EngineContext(model=model, load=plan.load, seed=seed))
        stack.callback(lambda: run_to_end(engine.aclose()))
        tasks = [question.task for question in stage.questions().sample(arguments.tasks)]
        stream = stage.streams[0].name
        for group in range(arguments.samples // GROUP):
            requests = [
                RolloutRequest(
                    task=task, stream=stream, sample=sample, seed=seed_for(seed, "sampling", group, task.id, sample)
                )
                for task in tasks
                for sample in range(GROUP)
            ]
            with context.media.temporary():
                trajectories = play_here(stage, requests, engine=engine, model=model)
                attempts = [Attempt(task=one.task, trajectory=two) for one, two in zip(requests, trajectories)]
                rows += [played(one) for one in score_attempts(attempts, stage.reward)]
            print(f"{name}: {len(rows)}", file=sys.stderr, flush=True)
    return rows


def played(attempt: Attempt) -> Played:
    trajectory = attempt.trajectory
    actions = [segment for segment in trajectory.segments if segment.role == "action"]
    return Played(
        task=attempt.task.id,
        first=tuple(actions[0].ids) if actions else (),
        first_logprob=sum(actions[0].logprobs or ()) if actions else 0.0,
        used_tool=any(isinstance(turn.action, ToolCall) for turn in trajectory.turns),
        is_right=bool(trajectory.score and trajectory.score.is_right),
        tokens=sum(len(one.ids) for one in actions),
        turns=len(trajectory.turns),
        failed=trajectory.status == "failed",
    )


def fit(rows: Sequence[Played]) -> tuple[float, int, float]:
    """Pearson's chi-square of first turns against their exact probabilities, its degrees of freedom and its p."""
    statistic, freedom = 0.0, 0
    for task in dict.fromkeys(row.task for row in rows):
        of = [row for row in rows if row.task == task]
        seen = Counter(row.first for row in of)
        probability = {row.first: math.exp(row.first_logprob) for row in of}
        # Cells by probability alone: whether a turn was seen often must not decide that it is one.
        own = [turn for turn in seen if probability[turn] * len(of) >= LEAST]
        rest = len(of) * max(0.0, 1.0 - sum(probability[turn] for turn in own))
        statistic += sum(
            (seen[turn] - probability[turn] * len(of)) ** 2 / (probability[turn] * len(of)) for turn in own
        )
        freedom += len(own) - 1
        if rest > 0.5:
            statistic += (len(of) - sum(seen[turn] for turn in own) - rest) ** 2 / rest
            freedom += 1
    return statistic, freedom, float(chi2.sf(statistic, max(1, freedom)))


def distinct(rows: Sequence[Played]) -> list[float]:
    """Different first turns in each group of eight."""
    tasks = list(dict.fromkeys(row.task for row in rows))
    by_task = {task: [row.first for row in rows if row.task == task] for task in tasks}
    return [
        float(len(set(firsts[at : at + GROUP]))) for firsts in by_task.values() for at in range(0, len(firsts), GROUP)
    ]


COLUMNS = {
    "code": lambda row: float(row.used_tool),
    "right": lambda row: float(row.is_right),
    "tokens": lambda row: float(row.tokens),
    "turns": lambda row: float(row.turns),
}


def summary(rows: Sequence[Played]) -> dict[str, object]:
    statistic, freedom, p = fit(rows)
    means = {name: round(sum(map(of, rows)) / len(rows), 4) for name, of in COLUMNS.items()}
    groups = distinct(rows)
    return {
        "trajectories": len(rows),
        "failed": sum(row.failed for row in rows),
        **means,
        "distinct_of_8": round(sum(groups) / len(groups), 3),
        "first_turns_chi2": round(statistic, 1),
        "degrees": freedom,
        "p": round(p, 4),
    }


def between(first: Sequence[Played], second: Sequence[Played]) -> dict[str, float]:
    """Differences of means in their standard errors; questions are the same, so that they are taken one by one."""
    found = {}
    for name, of in COLUMNS.items():
        difference = variance = 0.0
        tasks = list(dict.fromkeys(row.task for row in first))
        for task in tasks:
            for sign, rows in ((1.0, first), (-1.0, second)):
                values = [of(row) for row in rows if row.task == task]
                mean = sum(values) / len(values)
                difference += sign * mean / len(tasks)
                variance += sum((one - mean) ** 2 for one in values) / len(values) ** 2 / len(tasks) ** 2
        found[name] = round(difference / max(1e-9, math.sqrt(variance)), 2)
    one, other = distinct(first), distinct(second)
    means = [sum(values) / len(values) for values in (one, other)]
    spread = sum(
        sum((value - mean) ** 2 for value in values) / len(values) ** 2 for values, mean in zip((one, other), means)
    )
    return found | {"distinct_of_8": round((means[0] - means[1]) / max(1e-9, math.sqrt(spread)), 2)}


def told(rows: Sequence[Played]) -> str:
    return ", ".join(f"{name} {value}" for name, value in summary(rows).items())


if __name__ == "__main__":
    main()
