"""Questions that end the process while a run draws them."""

from collections.abc import Mapping, Sequence

from saccade.tasks.curriculum import Question, TaskSampler
from saccade.types import Group, Json


class Killed(BaseException):
    """What a process does not survive."""


class Dying:
    """Questions whose ``die_at``-th drawing ends the process."""

    def __init__(self, inner: TaskSampler, die_at: int) -> None:
        self._inner = inner
        self._left = die_at

    def sample(self, count: int) -> list[Question]:
        self._left -= 1
        if self._left == 0:
            raise Killed
        return self._inner.sample(count)

    def update(self, groups: Sequence[Group]) -> None:
        self._inner.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return self._inner.state_dict()

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._inner.load_state_dict(state)
