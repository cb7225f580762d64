"""Reward of an environment's own: the rewards of its steps, added up."""

import math
from dataclasses import dataclass

from saccade.errors import MachineError, UserError
from saccade.types import Malformed, Score, Task, Term, ToolCall, Trajectory, Turn

REWARD = "reward"
"""The key of ``ToolResult.data`` under which an environment gives the reward of a step."""
SUCCESS = "success"
"""The key under which it says whether the episode is a success, where it does."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentReward:
    """The sum of an environment's step rewards, with a price for turns that were no action of the environment.

    An episode is right where the environment calls it a success; one that never says so goes by its return.
    """

    weight: float = 1.0
    success_above: float = 0.0
    """Return above which an episode is right, where the environment does not say."""
    invalid_penalty: float = 0.0
    """Subtracted for each turn without a valid action."""

    def check(self) -> None:
        if not math.isfinite(self.weight) or not math.isfinite(self.success_above):
            raise UserError(f"weight={self.weight} and success_above={self.success_above} must be finite numbers")
        if not 0 <= self.invalid_penalty < math.inf:
            raise UserError(f"invalid_penalty={self.invalid_penalty} must be a finite number of 0 or more")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        rewards = step_rewards(trajectory)
        total = math.fsum(rewards)
        said = [turn.result.data[SUCCESS] for turn in trajectory.turns if turn.result and SUCCESS in turn.result.data]
        invalid = sum(is_invalid(turn) for turn in trajectory.turns)
        terms = [Term("return", total, self.weight)]
        if self.invalid_penalty:
            terms.append(Term("invalid", float(invalid), -self.invalid_penalty))
        return Score(
            terms=tuple(terms),
            is_right=bool(said[-1]) if said else total > self.success_above,
            notes={"invalid_actions": float(invalid), "steps": float(len(trajectory.turns))},
        )


def step_rewards(trajectory: Trajectory) -> tuple[float, ...]:
    """The environment's reward of each turn; 0 where a turn had no effect. MachineError for a reward that is none."""
    rewards = []
    for turn in trajectory.turns:
        reward = turn.result.data.get(REWARD, 0.0) if turn.result else 0.0
        if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
            raise MachineError(f"the environment's reward of turn {turn.index + 1} is {reward!r}, which is no number")
        rewards.append(float(reward))
    return tuple(rewards)


def is_invalid(turn: Turn) -> bool:
    """Whether the turn moved nothing: it held no action, or one that the environment has not."""
    is_moved = isinstance(turn.action, ToolCall) and turn.result is not None and turn.result.is_ok
    return isinstance(turn.action, Malformed | ToolCall) and not is_moved
