"""How a question is played: which environment, protocol and tools, how long."""

from dataclasses import dataclass, field, replace
from functools import partial

from saccade.envs.calls import ToolLatencies
from saccade.envs.environment import Environment, EnvironmentContext, EnvironmentFactory
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.settings import RolloutSettings
from saccade.tools.tool import EpisodeTool, Tool

TAGGED = tagged_protocol()


def visual_reasoning(context: EnvironmentContext) -> VisualReasoningEnv:
    """The default environment; it takes its tasks at ``reset`` and scores no answer, which the rewards do later."""
    return VisualReasoningEnv(
        protocol=context.protocol,
        tools=context.tools,
        media=context.media,
        view=context.view,
        max_turns=context.max_turns,
        reward=None,
        shows_pixels=False,
        latencies=context.latencies,
    )


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """How a question is played: environment, protocol, tools, limits."""

    protocol: ChatProtocol = TAGGED
    """An environment of one's own may leave it, and the tools, unread."""
    tools: tuple[Tool | EpisodeTool, ...] = ()
    rollout: RolloutSettings
    max_turns: int = 3
    make_env: EnvironmentFactory = visual_reasoning
    """Makes the environment of each trajectory: ``VisualReasoningEnv``, or one of your own."""
    latencies: ToolLatencies = field(default_factory=ToolLatencies, compare=False, repr=False)
    """How long its tools take: collected by its environments, recorded below ``time/`` with the next metrics."""

    @property
    def max_action_tokens(self) -> int:
        """The most tokens that a model may write in one episode."""
        return min(self.max_turns * self.rollout.max_turn_tokens, self.rollout.max_tokens)

    @property
    def environment_name(self) -> str | None:
        """What records call an environment of the recipe's own, by its class or function; None for the default."""
        make = self.make_env.func if isinstance(self.make_env, partial) else self.make_env
        if make is visual_reasoning:
            return None
        name: str = getattr(make, "__name__", type(make).__name__)
        return "own environment" if name == "<lambda>" else name

    def environment(self, media: MediaStore, view: ViewRule, *, is_timed: bool = True) -> Environment:
        """An environment that takes its tasks at ``reset``."""
        return self.make_env(
            EnvironmentContext(
                media=media,
                view=view,
                protocol=self.protocol,
                tools=self.tools,
                max_turns=self.max_turns,
                latencies=self.latencies if is_timed else None,
            )
        )

    def with_tools(self, *tools: Tool | EpisodeTool) -> "EpisodeSpec":
        """The same with further tools; one of the same name is replaced in its place."""
        given = {tool.spec.name: tool for tool in tools}
        kept = tuple(given.pop(tool.spec.name, tool) for tool in self.tools)
        return replace(self, tools=(*kept, *given.values()))

    def with_protocol(self, protocol: ChatProtocol) -> "EpisodeSpec":
        """The same in another protocol."""
        return replace(self, protocol=protocol)
