"""The environment's door: what the rollout, the evaluation and demonstrations need of an environment, and no more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from saccade.envs.latency import ToolLatencies
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.tools.tool import EpisodeTool, Tool
from saccade.types import ExpertTurn, Message, Turn


class Environment(Protocol):
    """A Gymnasium environment of text actions that also tells, typed, what the model is to be shown.

    ``reset`` gets ``options={"task": task}``. A step takes the model's turn verbatim and returns ``terminated`` when
    it answered and ``truncated`` when it is out of turns. Where the episode goes on, the newest of ``turns`` has an
    ``observation``. Rewards are worked out from trajectories: that of a step is not read.

    A step that raises has not happened and may be tried again; ``UserError`` is not tried again.
    """

    @property
    def prompt(self) -> tuple[Message, ...]:
        """The opening messages, after ``reset``."""
        ...

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns since ``reset``; a step that raises adds none."""
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


@runtime_checkable
class ExpertEnvironment(Environment, Protocol):
    """An environment in which an expert can be imitated."""

    def write_turn(self, turn: ExpertTurn) -> str:
        """The expert's next turn as the model should write it; ``UserError`` for one that cannot be written."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentContext:
    """What an environment is made of; one of your own takes from it what it needs."""

    media: MediaStore
    """Holds the images of the tasks and takes those that are shown in an episode."""
    view: ViewRule
    """How large the model sees an image, and in which frame it writes coordinates."""
    protocol: ChatProtocol
    tools: tuple[Tool | EpisodeTool, ...] = ()
    max_turns: int = 3
    latencies: ToolLatencies | None = None
    """Is told how long each tool call took; None where that is not wanted."""


MakeEnvironment = Callable[[], Environment]
"""Makes the environment of one trajectory."""

EnvironmentFactory = Callable[[EnvironmentContext], Environment]
"""Makes an environment of an episode's specification; a class whose constructor takes the context is one."""
