"""The loop by hand and a run of the same questions do the same, to the last bit."""

import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from places import ROOT
from saccade.models import base_checkpoint, load_model
from saccade.runs.metrics import read_metrics
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths
from saccade.tasks import InOrder
from saccade.train import Plan, RLSettings, RLStage, Stream, run_plan
from saccade.train.state import repeatable
from saccade.types import Attempt

BY_HAND = runpy.run_path(str(ROOT / "examples" / "grpo_by_hand.py"))
STEPS, QUESTIONS, GROUP_SIZE, SEED = 2, 4, 6, 5


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def test_its_tokens_scores_advantages_gradients_and_weights_are_those_of_a_run(tmp_path: Path) -> None:
    loop = BY_HAND["Loop"](seed=SEED, questions=QUESTIONS, group_size=GROUP_SIZE)
    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=BY_HAND["EPISODES"]),),
        questions=lambda: InOrder(lambda index: loop.task("train", index)),
        reward=BY_HAND["REWARD"],
        settings=RLSettings(
            steps=STEPS, tasks_per_step=QUESTIONS, group_size=GROUP_SIZE, optimizer=BY_HAND["OPTIMIZER"]
        ),
    )
    build = lambda: load_model(base_checkpoint(), loop.media)  # noqa: E731
    plan = Plan(title="By hand", settings=Nothing(), build_model=build, stages=(stage,))
    run_plan(plan, out=tmp_path, media=loop.media, seed=SEED, progress=Progress("quiet"))
    paths = RunPaths(root=tmp_path)
    with repeatable(threads=1, load=plan.load):
        for number, (position, recorded) in enumerate(read_metrics(paths.metrics)):
            groups, reported = loop.step(number)
            assert reported["gradient_norm"] > 0
            assert {name: recorded[name] for name in reported} == pytest.approx(reported, rel=1e-12)
            advantages = BY_HAND["ALGORITHM"].advantages(groups)
            assert list(read_records(paths.trajectories(position))) == [
                Attempt(task=group.task, trajectory=one, advantages=tuple(own))
                for group, of_group in zip(groups, advantages)
                for one, own in zip(group.trajectories, of_group)
            ]
    trained = load_model(paths.checkpoints / f"rl-{STEPS:06}", loop.media)
    for weight, own in zip(trained.hf.parameters(), loop.model.hf.parameters(), strict=True):
        assert torch.equal(weight, own)
