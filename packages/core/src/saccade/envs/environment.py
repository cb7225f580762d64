"""The environment's door: what the rollout, the evaluation and demonstrations need of an environment, and no more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from saccade.envs.calls import ToolLatencies
from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.box_text import thought_to_model
from saccade.protocols.coordinates import call_to_model
from saccade.protocols.points import points_to_model
from saccade.protocols.protocol import ChatProtocol
from saccade.tools.tool import EpisodeTool, Tool
from saccade.turn_ends import FencedActions
from saccade.types import ExpertTurn, ImageRef, Message, ToolCall, ToolSpec, Turn


class Environment(Protocol):
    """A Gymnasium environment of text actions, with typed members for what the model is shown.

    ``reset`` gets ``options={"task": task}``. A step takes the model's turn verbatim and returns ``terminated`` when
    it answered and ``truncated`` when it is out of turns. Where the episode goes on, the newest of ``turns`` has an
    ``observation``. Recipes work rewards out from trajectories; that of a step
    is read where ``--env`` names the environment (``RewardedEnvironment``).

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


@runtime_checkable
class WindowedEnvironment(Environment, Protocol):
    """An environment of long episodes, of which the model sees the last observations alone."""

    def new_context(self) -> tuple[Message, ...] | None:
        """Asked once after each turn that another follows: None where the context goes on, else the messages that open
        a new one. They show what the newest observation shows, which is then not shown again."""
        ...


@runtime_checkable
class FencedEnvironment(Environment, Protocol):
    """An environment that reads fenced blocks as actions."""

    @property
    def fenced_actions(self) -> FencedActions | None:
        """The blocks that end a turn beside the stop strings; None where no block does."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentContext:
    """Parts for building an environment; one of your own takes from them what it needs."""

    media: MediaStore
    """Holds the images of the tasks and takes those that are shown in an episode."""
    view: ViewRule
    """How large the model sees an image, and in which frame it writes coordinates."""
    protocol: ChatProtocol
    tools: tuple[Tool | EpisodeTool, ...] = ()
    max_turns: int = 3
    latencies: ToolLatencies | None = None
    """Receives the duration of each tool call; None records none."""


MakeEnvironment = Callable[[], Environment]
"""Makes the environment of one trajectory."""

EnvironmentFactory = Callable[[EnvironmentContext], Environment]
"""Makes an environment of an episode's specification; a class whose constructor takes the context is one."""


def in_model_frame(
    turn: ExpertTurn, specs: Sequence[ToolSpec], asked: Sequence[ImageRef], shown: Sequence[ImageRef], view: ViewRule
) -> ExpertTurn:
    """The turn with its coordinates as the model would write them.

    Boxes of the thought are on the first of the ``asked`` images, those of a call on the one of the ``shown`` images
    that it names. ``UserError`` for a call of a tool that is not in ``specs``.
    """
    thought = points_to_model(thought_to_model(turn.thought, asked, view), asked, view)
    if not isinstance(turn.action, ToolCall):
        return ExpertTurn(thought=thought, action=turn.action)
    spec = next((spec for spec in specs if spec.name == turn.action.name), None)
    if spec is None:
        raise UserError(f"the expert calls {turn.action.name!r}, which the environment does not offer")
    return ExpertTurn(thought=thought, action=call_to_model(turn.action, spec, shown, view))
