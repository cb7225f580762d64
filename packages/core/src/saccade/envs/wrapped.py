"""Environments around another: turn by turn the same, but for what a subclass says."""

from dataclasses import replace
from typing import SupportsFloat

from saccade.envs.environment import Environment, FencedEnvironment, WindowedEnvironment
from saccade.rewards.environment import REWARD
from saccade.turn_ends import FencedActions
from saccade.types import Message, ToolResult, Turn


class WrappedEnvironment:
    """Another environment; subclasses say what differs."""

    def __init__(self, env: Environment) -> None:
        self.env = env

    @property
    def prompt(self) -> tuple[Message, ...]:
        return self.env.prompt

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.env.turns

    @property
    def stop(self) -> tuple[str, ...]:
        return self.env.stop

    @property
    def fenced_actions(self) -> FencedActions | None:
        return fenced_actions(self.env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]:
        return self.env.step(action)

    def new_context(self) -> tuple[Message, ...] | None:
        return new_context(self.env)

    def close(self) -> None:
        self.env.close()


class RewardedEnvironment(WrappedEnvironment):
    """Another environment whose turns have the rewards that its steps returned, in the data of their results.

    One of 0 is not written, nor one of a turn whose environment has written its own.
    """

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._rewards: dict[int, float] = {}

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(_with_reward(turn, self._rewards.get(number, 0.0)) for number, turn in enumerate(self.env.turns))

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]:
        # What an environment returns may have any shape: it is unpacked here, where an error is one of the step.
        observation, reward, terminated, truncated, info = super().step(action)
        self._rewards[len(self.env.turns) - 1] = float(reward) if isinstance(reward, SupportsFloat) else 0.0
        return observation, reward, terminated, truncated, info


def _with_reward(turn: Turn, reward: float) -> Turn:
    result = turn.result or ToolResult()
    is_written = reward == 0 or REWARD in result.data
    return turn if is_written else replace(turn, result=replace(result, data={**result.data, REWARD: reward}))


def new_context(env: Environment) -> tuple[Message, ...] | None:
    """The messages that open a new context, where the environment begins one after this turn; else None."""
    return env.new_context() if isinstance(env, WindowedEnvironment) else None


def fenced_actions(env: Environment) -> FencedActions | None:
    """The fenced blocks by which an environment's turns end; None where none does."""
    return env.fenced_actions if isinstance(env, FencedEnvironment) else None
