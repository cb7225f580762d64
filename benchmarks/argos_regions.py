"""What Argos' grounding costs: 1,000 trajectories of six points on 125 pictures, verified by three back ends.

    python benchmarks/argos_regions.py [--json docs/results/argos_regions.json]

By exact regions; by tiny checkpoints of real architectures (GroundingDINO, then SAM) in this process, remembered; and
by the same checkpoints behind a tool server. Reported: seconds for the batch, for the same batch again, and what the
models were asked. Then processor seconds of a step of the tiny recipe where the outcome alone is paid, and of what the
whole reward by exact regions takes more. The checkpoints have random weights: their regions mean nothing, their work
is that of a real one of their size.
"""

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np
import torch
from seed_runs import imitation_of, train
from services_tools import ServedTools

from saccade.config import RecipeContext
from saccade.errors import MachineError
from saccade.geometry import Point
from saccade.media.store import MediaStore
from saccade.miniature.argos import tiny
from saccade.rewards.argos import (
    ArgosReward,
    CachedRegions,
    ExactRegions,
    ModelRegions,
    RegionFinding,
    RegionRequest,
    Regions,
    Verifier,
)
from saccade.rewards.argos.regions import Masks
from saccade.rewards.groups import score_attempts
from saccade.rewards.reward import AnyReward
from saccade.runs import read_records
from saccade.services.client import RemoteRegions, RemoteTools
from saccade.tasks import generate
from saccade.testing.tiny_specialists import save_tiny
from saccade.train import RLStage
from saccade.types import Answer, PointMention, Task, Trajectory, Turn
from saccade.vision_models import load_detector, load_segmenter

PICTURES, GROUP, POINTS = 125, 8, 6
SHORT, LONG, TURNS = 2, 12, 3
"""Steps of the runs that a step is the difference of, and times that each step's trajectories are scored."""
FINDING = RegionFinding(box_threshold=0.05, text_threshold=0.0, max_things=2)

SERVED = """[server]
port = 0
log = "events"
[tools.detect_objects]
backend = "transformers"
model = "{detector}"
serving = {{workers = 1, batch = 8}}
[tools.segment]
backend = "transformers"
model = "{segmenter}"
serving = {{workers = 1, batch = 8}}
"""


@dataclass
class CountedRegions:
    """Regions whose requests are counted, and the different pairs of picture and label among them."""

    inner: Regions
    asked: int = 0
    pairs: set[tuple[str, str, str]] = field(default_factory=set)

    @property
    def identity(self) -> str:
        return self.inner.identity

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Masks | MachineError]:
        self.asked += len(requests)
        self.pairs |= {request.key for request in requests}
        return self.inner.find(requests)


def trajectories(task: Task, rng: np.random.Generator) -> list[Trajectory]:
    """Right answers with points on named things, half of them off."""
    names = [one.name for one in task.objects]
    return [
        Trajectory(
            task_id=task.id,
            family=task.family,
            stream="main",
            sample=sample,
            seed=0,
            policy_version=0,
            segments=(),
            turns=(
                Turn(
                    index=0,
                    text="",
                    thought="",
                    action=Answer(text=task.answer),
                    is_well_formed=True,
                    points=tuple(
                        PointMention(
                            text="", label=names[place % len(names)], point=Point(*rng.integers(0, 256, 2).tolist())
                        )
                        for place in range(POINTS)
                    ),
                ),
            ),
            status="answered",
        )
        for sample in range(GROUP)
    ]


async def verified(reward: ArgosReward, asked: Sequence[tuple[Task, list[Trajectory]]]) -> int:
    """Scores of all at once, as a step asks for them; how many have a verdict on every point."""
    found = await asyncio.gather(*(reward.score_groups(task, {"main": group}, None) for task, group in asked))
    scores = [score for groups in found for score in groups.scores["main"] if score is not None]
    return sum(score.notes.get("no_verdict", 0.0) == 0 for score in scores)


def timed(reward: ArgosReward, asked: Sequence[tuple[Task, list[Trajectory]]]) -> tuple[float, int]:
    start = time.perf_counter()
    count = asyncio.run(verified(reward, asked))
    return round(time.perf_counter() - start, 3), count


def measured(regions: Regions, asked: Sequence[tuple[Task, list[Trajectory]]], *, kept: bool) -> dict[str, object]:
    counted = CountedRegions(regions)
    inner: Regions = CachedRegions(inner=counted) if kept else counted
    reward = ArgosReward(verifier=Verifier(regions=inner), reasoning_weight=0.0)
    first_s, count = timed(reward, asked)
    before = counted.asked
    again_s, _ = timed(reward, asked)
    return {
        "seconds": first_s,
        "again_s": again_s,
        "with_verdict": count,
        "asked": before,
        "different_pairs": len(counted.pairs),
        "asked_again": counted.asked - before,
    }


def tools_file(folder: Path) -> Path:
    file = folder / "tools.toml"
    file.write_text(SERVED.format(detector=folder / "grounding_dino", segmenter=folder / "sam"))
    return file


def step_cost(folder: Path, repeats: int) -> dict[str, object]:
    """Processor seconds of an outcome-only step of the tiny recipe after a quarter of its imitation, and of scoring
    that step's own trajectories by either reward, by turns.

    A step is the difference of runs of 12 and of 2 steps, start and evaluations apart. ``ratio`` is of an outcome-only
    step, with what the whole reward takes more, to one without.
    """
    base, few = folder / "base", ["evaluation_tasks=1", "curve_tasks=1", "rl.evaluate_every=0"]
    train("argos:tiny", 0, base, ["sft.steps=400", "rl.steps=1", *few], threads=1, start=None)
    alone, start = ["reward.grounding_weight=0", "reward.reasoning_weight=0"], imitation_of(base)
    steps: list[float] = []
    for repeat in range(repeats):
        seconds = {}
        for count in (SHORT, LONG):
            before = children_s()
            out = folder / f"{count}-{repeat}"
            train("argos:tiny", 0, out, [f"rl.steps={count}", *few, *alone], threads=1, start=start)
            seconds[count] = children_s() - before
        steps.append((seconds[LONG] - seconds[SHORT]) / (LONG - SHORT))
    rewards = {name: paying(settings) for name, settings in {"outcome alone": alone, "whole reward": []}.items()}
    records = sorted((folder / f"{LONG}-0" / "trajectories").rglob("*.jsonl"))
    scored: dict[str, list[float]] = {name: [] for name in rewards}
    for file in records:
        attempts = list(read_records(file))
        for _ in range(TURNS):
            for name, reward in rewards.items():
                before = time.process_time()
                score_attempts(attempts, reward)
                scored[name].append(time.process_time() - before)
    step = min(steps)
    medians = {name: statistics.median(found) for name, found in scored.items()}
    more = medians["whole reward"] - medians["outcome alone"]
    return {
        "outcome_only_step_cpu_s": [round(one, 4) for one in steps],
        "reward_cpu_s": {name: round(one, 5) for name, one in medians.items()},
        "ratio": round(1 + more / step, 4),
    }


def children_s() -> float:
    """Processor seconds of the programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def paying(settings: Sequence[str]) -> AnyReward:
    """The reward of the tiny recipe's reinforcement."""
    plan = tiny(RecipeContext(overrides=tuple(settings)))
    [stage] = [stage for stage in plan.stages if isinstance(stage, RLStage)]
    return stage.reward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=3, help="Runs of each kind for the cost of a step.")
    arguments = parser.parse_args()
    media, rng = MediaStore(), np.random.default_rng(0)
    tasks = [generate("plate_count", split="train", index=index, seed=0, media=media).task for index in range(PICTURES)]
    tasks = [replace(task, answer_kind="exact") for task in tasks]
    asked = [(task, trajectories(task, rng)) for task in tasks]
    rows: dict[str, object] = {"exact regions": measured(ExactRegions(), asked, kept=False)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for kind in ("grounding_dino", "sam"):
            save_tiny(kind, folder / kind)
        torch.set_num_threads(1)
        local = ModelRegions(
            media=media,
            name="tiny",
            detector=load_detector(folder / "grounding_dino"),
            segmenter=load_segmenter(folder / "sam"),
            finding=FINDING,
        )
        rows["tiny checkpoints, in process"] = measured(local, asked, kept=True)
        with ServedTools(tools_file(folder)) as server, RemoteTools(server.url, patience_s=120.0) as tools:
            remote = RemoteRegions(tools=tools, media=media, name="tiny, served", finding=FINDING)
            rows["tiny checkpoints, served"] = measured(remote, asked, kept=True)
        rows["step"] = step_cost(folder, arguments.repeats)
    for name, row in rows.items():
        print(name, json.dumps(row))
    if arguments.json:
        head = {"command": "python benchmarks/argos_regions.py", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps({**head, "trajectories": PICTURES * GROUP, **rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
