"""Rewards over groups and credit for turns in a run: siblings are compared, memory survives a kill, signals teach."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dying_run import Dying, Killed

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.policy_gradient import grpo
from saccade.algorithms.turn_credit import with_turn_credit
from saccade.errors import MachineError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.reward import AnyReward, GroupScores
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import Shuffled
from saccade.testing.tasks import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.plan import EpisodeSpec, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Json, Score, Task, Term, Trajectory

ROLLOUT = RolloutSettings(max_turn_tokens=10, max_tokens=400)
LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=ROLLOUT, max_turns=2)


@dataclass(frozen=True, kw_only=True)
class Settings:
    rl: RLSettings = RLSettings(
        steps=3,
        tasks_per_step=2,
        group_size=2,
        optimizer=OptimizerSettings(learning_rate=2e-3, micro_batch_tokens=400),
        checkpoint_every=1,
        staleness=1,
    )


class Counting:
    """Pays the first of each group by how often its task was scored before; its part says so."""

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        times = memory if isinstance(memory, int) else 0
        return GroupScores(
            scores={
                stream: [
                    Score(terms=(Term("times", float(times)), Term("index", float(index)))) for index in range(len(of))
                ]
                for stream, of in groups.items()
            },
            memory=times + 1,
        )


def nothing(task: Task, trajectory: Trajectory) -> Score:
    return Score(terms=(Term("accuracy", 0.0),), is_right=False)


def run(
    out: Path,
    reward: AnyReward,
    algorithm: Algorithm,
    *,
    die_at: int = 0,
    resume: bool = False,
    streams: tuple[str, ...] = ("looking", "again"),
) -> None:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(2)]

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        return tiny_model(["Which colour has the square? I look."] * 9, media, size=size, vocab_size=320, seed=4)

    stage = RLStage(
        name="rl",
        streams=tuple(Stream(name=name, episodes=LOOKING) for name in streams),
        questions=lambda: Dying(Shuffled(tasks, seed=2, streams=streams), die_at),
        reward=reward,
        algorithm=algorithm,
        settings=Settings().rl,
    )
    plan = Plan(title="Groups", settings=Settings(), build_model=build_model, stages=(stage,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def metric(out: Path, name: str) -> list[float]:
    return [values[name] for _, values in read_metrics(out / "metrics.jsonl")]


def test_a_reward_remembers_each_task_and_sees_all_its_streams(tmp_path: Path) -> None:
    run(tmp_path / "run", Counting(), grpo())
    # Both tasks are asked in every step, each in two streams that are scored at once.
    assert metric(tmp_path / "run", "reward/times") == [0.0, 1.0, 2.0]
    assert metric(tmp_path / "run", "again/reward/times") == [0.0, 1.0, 2.0]


def test_what_a_reward_remembers_survives_a_kill(tmp_path: Path) -> None:
    run(tmp_path / "whole", Counting(), grpo())
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, Counting(), grpo(), die_at=3)
    run(died, Counting(), grpo(), resume=True)
    assert without_times(died / "metrics.jsonl") == without_times(tmp_path / "whole" / "metrics.jsonl")
    states = [out / "checkpoints" / "rl-000003" / "trainer" / "extras.json" for out in (died, tmp_path / "whole")]
    assert states[0].read_bytes() == states[1].read_bytes()
    assert sorted(json.loads(states[0].read_text())["memory"].values()) == [3, 3]


def test_a_trajectory_without_a_verdict_is_left_out_and_counted(tmp_path: Path) -> None:
    class Silent(Counting):
        def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
            found = super().score_groups(task, groups, memory)
            return replace(found, scores={stream: [None, *scores[1:]] for stream, scores in found.scores.items()})

    run(tmp_path / "run", Silent(), grpo(), streams=("looking",))
    assert metric(tmp_path / "run", "rollout/failed") == [2.0, 2.0, 2.0]
    assert metric(tmp_path / "run", "updates") == [0.0, 0.0, 0.0]
    files = sorted((tmp_path / "run" / "trajectories").glob("*/*.jsonl"))
    assert [one.trajectory.status == "failed" for one in read_records(files[0])] == [True, False] * 2


def test_a_judge_of_single_trajectories_trains_and_what_its_machine_fails_is_left_out(tmp_path: Path) -> None:
    async def judged(task: Task, trajectory: Trajectory) -> Score:
        await asyncio.sleep(0)
        if trajectory.sample == 0 and trajectory.stream == "again":
            raise MachineError("the judge is down")
        return Score(terms=(Term("sample", float(trajectory.sample), 0.5),))

    run(tmp_path / "run", judged, grpo())
    assert metric(tmp_path / "run", "looking/reward/mean") == [0.25] * 3
    assert metric(tmp_path / "run", "rollout/failed") == [2.0] * 3
    assert min(metric(tmp_path / "run", "updates")) == 1.0


def test_entropy_is_of_all_that_was_sampled_also_where_nothing_is_learned(tmp_path: Path) -> None:
    run(tmp_path / "run", nothing, grpo())
    # An untrained model chooses among nearly equal tokens: log 320 = 5.77.
    assert all(5.0 < entropy < 6.0 for entropy in metric(tmp_path / "run", "rollout/entropy"))
    assert metric(tmp_path / "run", "calls/mean") == [0.0, 0.0, 0.0]


def test_equal_rewards_teach_nothing_but_a_turn_signal_does(tmp_path: Path) -> None:
    run(tmp_path / "without", nothing, grpo())
    assert metric(tmp_path / "without", "updates") == [0.0, 0.0, 0.0]

    def returns(one: Trajectory) -> list[float]:
        return [-0.5 if sum(segment.ids) % 2 else 0.0 for segment in one.segments if segment.role == "action"]

    run(tmp_path / "with", nothing, with_turn_credit(grpo(), returns))
    assert metric(tmp_path / "with", "rollout/constant_groups") == [1.0, 1.0, 1.0]
    assert metric(tmp_path / "with", "updates") == [1.0, 1.0, 1.0]
    assert all(norm > 0 for norm in metric(tmp_path / "with", "gradient_norm"))
