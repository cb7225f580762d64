"""An environment whose turns are told as they end: what a stream shows of an episode in progress."""

from collections.abc import Callable

from saccade.envs.environment import Environment
from saccade.types import Message, Turn

OnTurn = Callable[[Turn], None]


class WatchedEnvironment:
    """Another environment, turn by turn the same; ``on_turn`` is called in the thread in which it steps."""

    def __init__(self, env: Environment, on_turn: OnTurn) -> None:
        self._env = env
        self._on_turn = on_turn

    @property
    def prompt(self) -> tuple[Message, ...]:
        return self._env.prompt

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self._env.turns

    @property
    def stop(self) -> tuple[str, ...]:
        return self._env.stop

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        return self._env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]:
        stepped = self._env.step(action)
        self._on_turn(self._env.turns[-1])
        return stepped

    def close(self) -> None:
        self._env.close()
