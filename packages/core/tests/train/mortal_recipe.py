"""The demo whose processes end themselves by SIGKILL, each once, where a file beside this one says so.

``rollout``: a rollout worker in the middle of its second share; ``learner``: the first learner while it scores the
second step. No test has to be quick enough to kill them.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import RecipeContext
from saccade.envs.environment import Environment, EnvironmentContext
from saccade.miniature.demo import demo
from saccade.rewards import OutcomeReward, Score
from saccade.rollout.episodes import visual_reasoning
from saccade.train import Plan, RLStage
from saccade.types import Task, Trajectory

HERE = Path(__file__).parent
PER_SHARE = 8
PER_STEP = 16


@dataclass
class Countdown:
    """Ends its process at its last call, if the file is there to be taken."""

    name: str
    left: int

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            try:
                (HERE / self.name).unlink()
            except FileNotFoundError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


def mortal(context: RecipeContext) -> Plan:
    """The demo, two questions for each of two workers, two streams, groups of two."""
    plan = demo(context)
    # Its second share begins, and half of it is there.
    played = mortal_environment(Countdown("rollout", PER_SHARE + PER_SHARE // 2))
    stages = [_mortal_stage(one, played) if isinstance(one, RLStage) else one for one in plan.stages]
    return replace(plan, stages=tuple(stages))


def _mortal_stage(stage: RLStage, played: Callable[[EnvironmentContext], Environment]) -> RLStage:
    streams = tuple(replace(one, episodes=replace(one.episodes, make_env=played)) for one in stage.streams)
    assert isinstance(stage.reward, OutcomeReward)
    return replace(stage, streams=streams, reward=MortalReward(stage.reward, Countdown("learner", PER_STEP + 2)))


def mortal_environment(dies: Countdown) -> Callable[[EnvironmentContext], Environment]:
    def mortal_visual_reasoning(context: EnvironmentContext) -> Environment:
        dies()
        return visual_reasoning(context)

    return mortal_visual_reasoning


@dataclass(frozen=True)
class MortalReward:
    """The demo's own reward."""

    reward: OutcomeReward
    dies: Countdown

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        self.dies()
        return self.reward(task, trajectory)
