"""Runs of iVGR in miniature in which whatever an untrained model says means something.

    python packages/core/tests/train/ivgr_runs.py OUT DIE_AT

runs one whose process is killed when its ``DIE_AT``-th question is to be scored.
"""

import hashlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config.context import RecipeContext
from saccade.gym.drawn.plates import MARKS, PLATE_COLOURS
from saccade.miniature.ivgr import tiny
from saccade.miniature.judges import PLACES
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.two_streams import TEXTUAL
from saccade.rewards.reward import AnyReward, GroupReward, GroupScores
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.train.plan import Plan, RLStage
from saccade.train.run import run_plan
from saccade.types import Attempt, Json, Task, Trajectory

STEPS, PAIRS, GENERAL, GROUP = 7, 2, 2, 16

SMALL = (
    "sft.steps=0",
    f"rl.steps={STEPS}",
    f"rl.tasks_per_step={PAIRS + GENERAL}",
    f"boxed_per_step={PAIRS}",
    f"rl.group_size={GROUP}",
    "rl.checkpoint_every=2",
    "rl.evaluate_every=0",
    "rl.warmup_steps=0",
    "rl.optimizer.learning_rate=0.001",
    "rl_questions=6",
    "reward.tau=0.02",
    "rollout.max_turn_tokens=12",
    "evaluation_tasks=2",
    "test_time=false",
    *(
        "size.hidden=32",
        "size.heads=2",
        "size.kv_heads=1",
        "size.mlp=64",
        "size.vision_hidden=32",
        "size.vision_mlp=48",
    ),
)
"""Three steps ask each of the six questions with boxes once, in both streams."""


def meaning(text: str, *, has_boxes: bool, may_crop: bool) -> str:
    """What the model would have said if it could speak: a well-formed turn that depends on the text alone."""
    chance = random.Random(hashlib.sha256(text.encode()).digest())
    name, mark = chance.choice(PLATE_COLOURS[:4]), chance.choice(list(MARKS))
    side = chance.choice([500, 1000])
    left, top = chance.choice([0, 1000 - side]), chance.choice([0, 1000 - side])
    place = f"<box>[{left},{top},{left + side},{top + side}]</box>" if has_boxes else chance.choice(PLACES)
    if may_crop and chance.random() < 0.5:
        call = {"name": "crop", "arguments": {"bbox_2d": [left, top, left + 500, top + 500]}}
        return f"<think>{name} {place}</think><tool_call>{json.dumps(call)}</tool_call>"
    answer = chance.choice([mark, mark, f"{mark} and {chance.choice(list(MARKS))}"])
    return f"<think>{name} {place} {mark}</think><answer>{answer}</answer>"


def fluent(protocol: ChatProtocol) -> ChatProtocol:
    """The protocol, read by a good-natured reader."""

    def parse(text: str) -> ParsedTurn:
        return protocol.parse(meaning(text, has_boxes=protocol.name != TEXTUAL, may_crop=protocol.offers_tools))

    # Its turns end somewhere, too.
    return replace(protocol, parse=parse, stop=tuple("aeinorst "))


@dataclass
class DyingReward:
    """Its ``die_at``-th question ends the process as ``kill -9`` does."""

    inner: GroupReward
    left: int

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return await self.inner.score_groups(task, groups, memory)


def with_stage(plan: Plan, change: Callable[[RLStage], RLStage]) -> Plan:
    """The plan with its reinforcement changed."""
    return replace(plan, stages=tuple(change(one) if isinstance(one, RLStage) else one for one in plan.stages))


def reinforcement(plan: Plan) -> RLStage:
    return next(stage for stage in plan.stages if isinstance(stage, RLStage))


def run(
    out: Path,
    *settings: str,
    die_at: int = 0,
    resume: bool = False,
    seed: int = 3,
    change: Callable[[RLStage], RLStage] = lambda stage: stage,
) -> None:
    """``change`` is made to the reinforcement last."""
    context = RecipeContext(overrides=(*SMALL, *settings), seed=seed)

    def dying(reward: AnyReward) -> AnyReward:
        assert isinstance(reward, GroupReward)
        return DyingReward(reward, die_at)

    def spoken(stage: RLStage) -> RLStage:
        streams = tuple(
            replace(stream, episodes=replace(stream.episodes, protocol=fluent(stream.episodes.protocol)))
            for stream in stage.streams
        )
        return replace(stage, streams=streams, reward=dying(stage.reward) if die_at else stage.reward)

    plan = with_stage(with_stage(tiny(context), spoken), change)
    # The reward that dies is another one than that which goes on.
    accepted = ("stages.rl.reward",)
    run_plan(
        plan,
        out=out,
        media=context.media,
        seed=seed,
        resume=resume,
        accepted=accepted,
        progress=Progress("quiet"),
    )


def metric(out: Path, name: str) -> list[float]:
    """Of each step of the reinforcement that has it."""
    records = read_metrics(out / "metrics.jsonl")
    return [values[name] for position, values in records if position.stage == "rl" and name in values]


def steps(out: Path) -> list[list[Attempt]]:
    """The trajectories of each step of the reinforcement."""
    return [list(read_records(path)) for path in sorted((out / "trajectories" / "rl").glob("step-*.jsonl"))]


def of_stream(attempts: Sequence[Attempt], stream: str) -> list[Attempt]:
    return [one for one in attempts if one.trajectory.stream == stream]


def archive(out: Path, step: int) -> dict[str, Json]:
    """What the reward remembered of each task when the step's checkpoint was written."""
    extras = json.loads((out / "checkpoints" / f"rl-{step:06}" / "trainer" / "extras.json").read_bytes())
    return dict(extras["memory"])


def outcome(out: Path) -> dict[str, object]:
    """All that the same seed must give again: every file but those that tell of the clock or the session."""
    folders = ("trajectories", "evaluations", "media", "checkpoints")
    files = [file for folder in folders for file in (out / folder).rglob("*") if file.is_file()]
    digests = {str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return {**digests, "metrics": without_times(out / "metrics.jsonl")}


if __name__ == "__main__":
    run(Path(sys.argv[1]), die_at=int(sys.argv[2]))
