"""An environment whose turns are told as they end: what a stream shows of an episode in progress."""

from collections.abc import Callable

from saccade.envs.environment import Environment
from saccade.envs.wrapped import WrappedEnvironment
from saccade.types import Turn

OnTurn = Callable[[Turn], None]


class WatchedEnvironment(WrappedEnvironment):
    """Another environment, turn by turn the same; ``on_turn`` is called in the thread in which it steps."""

    def __init__(self, env: Environment, on_turn: OnTurn) -> None:
        super().__init__(env)
        self._on_turn = on_turn

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]:
        stepped = super().step(action)
        self._on_turn(self.env.turns[-1])
        return stepped
