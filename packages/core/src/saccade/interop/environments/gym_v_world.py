"""Environments of Gym-V's shape for one agent: observations, actions and rewards are dictionaries by agent.

``reset(seed=...)`` gives ``({"agent_0": observation}, info)``; an observation has ``image`` (a PIL image, several, or
none) and ``text``. ``step({"agent_0": text})`` gives dictionaries of observations, rewards and ends, the ends with the
key ``__all__`` besides.
"""

from collections.abc import Mapping
from typing import Protocol

from saccade.errors import UserError
from saccade.interop.environments.observations import shown_from
from saccade.interop.environments.world import NumberedEpisode, StepResult, WorldObservation

ALL = "__all__"


class AgentEnv(Protocol):
    """What is used of such an environment."""

    def reset(self, *, seed: int) -> tuple[Mapping[str, object], object]: ...

    def step(
        self, action: Mapping[str, str]
    ) -> tuple[
        Mapping[str, object], Mapping[str, float], Mapping[str, bool], Mapping[str, bool], Mapping[str, object]
    ]: ...

    def close(self) -> None: ...


class GymVWorld:
    """One environment of one agent; ``UserError`` at ``reset`` where there are several."""

    def __init__(self, env: AgentEnv, name: str) -> None:
        self._env, self._name, self._agent = env, name, ""
        self.rules = f"This is the environment {name}. An action is a text."

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        observations, _ = self._env.reset(seed=episode.seed(self._name))
        if not isinstance(observations, Mapping) or len(observations) != 1:
            count = len(observations) if isinstance(observations, Mapping) else "no"
            raise UserError(
                f"{self._name} gives observations of {count} agents; one agent is played here, so let your function "
                "play the others"
            )
        [self._agent] = observations
        return _world_observation(observations[self._agent])

    def step(self, action: str) -> StepResult:
        observations, rewards, terminated, truncated, info = self._env.step({self._agent: action.strip()})
        about = info.get(self._agent)
        success = about.get("success") if isinstance(about, Mapping) else None
        return StepResult(
            shown=_world_observation(observations.get(self._agent)),
            reward=float(rewards.get(self._agent, 0.0)),
            terminated=_ends(terminated, self._agent),
            truncated=_ends(truncated, self._agent),
            success=None if success is None else bool(success),
        )

    def close(self) -> None:
        self._env.close()


def _ends(flags: Mapping[str, bool], agent: str) -> bool:
    return bool(flags.get(ALL) or flags.get(agent))


def _world_observation(observation: object) -> WorldObservation:
    """Text and pictures; nothing where an agent that has ended sees nothing."""
    parts = [getattr(observation, name, None) for name in ("text", "image")]
    seen = [part for part in parts if part is not None]
    return shown_from(seen) if seen else WorldObservation()
