"""What the rollout needs of an environment; ``saccade.envs`` provides it."""

from collections.abc import Callable
from typing import Protocol

from saccade.types import ImageRef, Message, Turn


class Environment(Protocol):
    """A Gymnasium environment of text actions that also tells, typed, what the model is to be shown."""

    @property
    def prompt(self) -> tuple[Message, ...]:
        """The opening messages, after ``reset``."""
        ...

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns since ``reset``; a step that raises adds none."""
        ...

    @property
    def images(self) -> tuple[ImageRef, ...]:
        """All images shown since ``reset``, in order."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a turn."""
        ...

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]: ...

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]: ...

    def close(self) -> None: ...


MakeEnvironment = Callable[[], Environment]
