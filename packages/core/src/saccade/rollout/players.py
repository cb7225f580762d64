"""Players: a policy that plays questions in environments, by tokens at an engine or by texts at a chat model.

Both play the same episodes: protocol, tools, sandbox and turns are those of the environment.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from saccade.codec.forms import Form
from saccade.engines.engine import Engine
from saccade.envs.environment import Environment
from saccade.envs.wrapped import WrappedEnvironment
from saccade.media.resize import ViewRule
from saccade.models.chat import Chat
from saccade.rollout.batch import PlayedAs, rollout
from saccade.rollout.episodes import RolloutRequest
from saccade.types import ToolCall, Trajectory
from saccade.waiting import run_to_end


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleCost:
    """What one trajectory cost, and whether there was an answer to pay for."""

    FORM: ClassVar = Form(sparse=("refused",))

    tokens_in: int = 0
    """Tokens that the model was given, the whole context of each turn, as servers bill it."""
    tokens_out: int = 0
    """Tokens that it wrote."""
    wall_s: float = 0.0
    """From the reset of its environment to its end, the wait for a place in the batch included."""
    tool_s: float = 0.0
    """In turns that called a tool, within the environment."""
    refused: bool = False
    """Whether the server says that its last reply is a refusal, or was taken by a filter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedSample:
    """A trajectory and its cost."""

    trajectory: Trajectory
    cost: SampleCost


OnPlayed = Callable[[int, PlayedSample], None]
"""Is told of each trajectory as it ends, with the place of its request; from any thread, one call at a time."""


class SamplePlayer(Protocol):
    """Plays requests; an engine with its chat template, or a chat model."""

    @property
    def view(self) -> ViewRule:
        """How large the policy sees pictures, and in which frame it writes coordinates."""
        ...

    @property
    def at_once(self) -> int:
        """How many trajectories are under way at a time."""
        ...

    def play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        """One trajectory per request, in their order; one that the machine fails ends ``failed``."""
        ...


class TimedEnvironment(WrappedEnvironment):
    """An environment with the seconds that its episode takes."""

    started_s = tool_s = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        self.started_s = self.started_s or time.monotonic()
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[object, object, bool, bool, dict[str, object]]:
        began_s = time.monotonic()
        taken = super().step(action)
        if isinstance(self.env.turns[-1].action, ToolCall):
            self.tool_s += time.monotonic() - began_s
        return taken

    @property
    def wall_s(self) -> float:
        """Since the reset."""
        return time.monotonic() - self.started_s if self.started_s else 0.0


@dataclass(frozen=True, kw_only=True)
class TokenPlayer:
    """A policy at an engine: what it writes is tokens, and its trajectories own them."""

    engine: Engine
    chat: Chat
    view: ViewRule
    at_once: int = 64

    def play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        timed: list[TimedEnvironment] = []

        def make_env() -> Environment:
            timed.append(TimedEnvironment(how.make_env()))
            return timed[-1]

        finished: dict[int, PlayedSample] = {}

        def finish(index: int, trajectory: Trajectory) -> None:
            # A batch whose engine was lost is played anew, in environments of its own: the newest are at the end.
            env = timed[len(timed) - len(requests) + index]
            finished[index] = PlayedSample(trajectory=trajectory, cost=_token_cost(trajectory, env))
            on_played(index, finished[index])

        run_to_end(
            rollout(
                requests,
                engine=self.engine,
                chat=self.chat,
                streams={request.stream: replace(how, make_env=make_env) for request in requests},
                on_placed=finish,
            )
        )
        return [finished[index] for index in range(len(requests))]


def _token_cost(trajectory: Trajectory, env: TimedEnvironment) -> SampleCost:
    context = tokens_in = tokens_out = 0
    for segment in trajectory.segments:
        if segment.role == "prompt":
            # The first one, or that of an environment that begins a new context.
            context = 0
        if segment.role == "action":
            tokens_in += context
            tokens_out += len(segment.ids)
        context += len(segment.ids)
    return SampleCost(tokens_in=tokens_in, tokens_out=tokens_out, wall_s=env.wall_s, tool_s=env.tool_s)
