"""Settings of episodes: environment, protocol, tools, sampling and length."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from saccade.envs.calls import ToolLatencies
from saccade.envs.environment import Environment, EnvironmentContext, EnvironmentFactory, MakeEnvironment
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import tagged_protocol
from saccade.tools.tool import EpisodeTool, Tool
from saccade.types import Message, Task

if TYPE_CHECKING:
    from saccade.rollout.call_gains import CallProbe


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutRequest:
    """A request for one trajectory."""

    task: Task
    stream: str
    sample: int
    """Index inside its group."""
    seed: int
    """Seed of this trajectory alone: ``seed_for(root, "rollout", stage, step, task.id, stream, sample)``."""

    @property
    def label(self) -> str:
        return f"{self.task.id}/{self.stream}/{self.sample}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutSettings:
    """How trajectories are sampled and how long they may become."""

    max_turn_tokens: int = 256
    """Tokens that the model may write in one turn."""
    corrects_cut_turns: bool = False
    """Whether a turn that reaches ``max_turn_tokens`` is told what is wrong with it and another follows, while there
    are turns left; else it ends the trajectory."""
    drops_old_thoughts: bool = False
    """Whether earlier turns lose the thoughts that the chat template leaves out of them (GLM, Qwen3.5 and other models
    that always think): the next turn then begins a new context. Else all stay as they were sampled."""
    native_video: bool = False
    """Whether a video is shown by the model's own video tokens, two frames in one patch (Qwen-VL, GLM-V); else as
    pictures."""
    few_shot: int = 0
    """Episodes shown before each question, the first of ``few_shot_file``; they count in ``max_tokens``."""
    few_shot_file: str = ""
    """Trajectories that Saccade recorded, of which those well-formed and right are shown, or conversations as for
    imitation."""
    max_tokens: int = 4096
    """Limit of a whole trajectory: prompt, turns and observations; of each context, where there are several."""
    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps all tokens."""
    probes_calls: bool = False
    """Whether the engine is asked how much the result of each call raised the probability of the right answer, as soon
    as a trajectory ends: two forwards of its text for each call (``saccade.rollout.call_gains``)."""
    tool_threads: int = 16
    """Environments that may run at the same time."""
    machine_retries: int = 2
    """How often a step that failed by no fault of the policy is tried again before the trajectory ends ``failed``."""
    retry_wait_s: float = 0.5
    """Wait before the first retry; doubles with each retry."""

    def __post_init__(self) -> None:
        if self.max_turn_tokens < 1 or self.max_tokens < 2 or self.tool_threads < 1:
            raise UserError(
                f"max_turn_tokens={self.max_turn_tokens}, max_tokens={self.max_tokens} and "
                f"tool_threads={self.tool_threads} must be positive, and max_tokens at least 2"
            )
        if self.few_shot < 0 or (self.few_shot_file and not self.few_shot):
            raise UserError(f"few_shot={self.few_shot} shows nothing of few_shot_file; use 1 or more, or no file")
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise UserError(
                f"temperature={self.temperature}, top_p={self.top_p}, top_k={self.top_k}: use a temperature of 0 or "
                "more, a top_p above 0 and up to 1, a top_k of 0 (all tokens) or more"
            )
        if self.machine_retries < 0 or self.retry_wait_s < 0:
            raise UserError(
                f"machine_retries={self.machine_retries} and retry_wait_s={self.retry_wait_s} must not be negative"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedAs:
    """Settings by which the trajectories of a stream are played."""

    make_env: MakeEnvironment
    settings: RolloutSettings
    records_experts: bool = False
    """Whether trajectories keep the experts of their tokens."""
    probe: "CallProbe | None" = None
    """How the gains of calls are measured; None where they are not."""


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
    """An environment of your own may ignore the protocol and the tools."""
    tools: tuple[Tool | EpisodeTool, ...] = ()
    rollout: RolloutSettings
    max_turns: int = 3
    make_env: EnvironmentFactory = visual_reasoning
    """Makes the environment of each trajectory: ``VisualReasoningEnv``, or one of your own."""
    latencies: ToolLatencies = field(default_factory=ToolLatencies, compare=False, repr=False)
    """Durations of its tool calls, collected by its environments and recorded below ``time/`` with the next metrics."""

    @property
    def max_action_tokens(self) -> int:
        """The most tokens that a model may write in one episode."""
        return min(self.max_turns * self.rollout.max_turn_tokens, self.rollout.max_tokens)

    @property
    def environment_name(self) -> str | None:
        """Name of an environment of the recipe's own in records, by its class or function; None for the default."""
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
                protocol=self._asked_protocol(media),
                tools=self.tools,
                max_turns=self.max_turns,
                latencies=self.latencies if is_timed else None,
            )
        )

    def opening(self, task: Task, media: MediaStore, view: ViewRule) -> tuple[Message, ...]:
        """The messages with which the protocol asks a task; UserError for an environment, which writes its own."""
        if self.environment_name is not None:
            raise UserError(
                f"the environment {self.environment_name} writes its prompts itself; none is written for it"
            )
        return self._asked_protocol(media).prompt(task, [tool.spec for tool in self.tools], view)

    def _asked_protocol(self, media: MediaStore) -> ChatProtocol:
        """The protocol with the episodes that it shows before each question, and with videos as the model has them."""
        protocol, count = self.protocol, self.rollout.few_shot
        if self.rollout.native_video:
            from saccade.protocols.native_video import with_native_video

            protocol = with_native_video(protocol, media)
        if not count:
            return protocol
        # Few runs show episodes, and their readers are many modules.
        from saccade.protocols.few_shot import with_few_shot
        from saccade.rollout.shown_episodes import shown_episodes

        return with_few_shot(protocol, shown_episodes(self.rollout.few_shot_file, count, media), count)

    def played_as(self, media: MediaStore, view: ViewRule, *, temperature: float | None = None) -> PlayedAs:
        """Its environments and limits for a model with this view; None samples at the ``rollout``'s temperature."""
        settings = self.rollout if temperature is None else replace(self.rollout, temperature=temperature)
        return PlayedAs(
            make_env=partial(self.environment, media, view), settings=settings, probe=self._call_probe(media)
        )

    def _call_probe(self, media: MediaStore) -> "CallProbe | None":
        if not self.rollout.probes_calls:
            return None
        from saccade.rollout.call_gains import CallProbe

        return CallProbe(protocol=self._asked_protocol(media), media=media)

    def with_tools(self, *tools: Tool | EpisodeTool) -> "EpisodeSpec":
        """The same with further tools; one of the same name is replaced in its place."""
        given = {tool.spec.name: tool for tool in tools}
        kept = tuple(given.pop(tool.spec.name, tool) for tool in self.tools)
        return replace(self, tools=(*kept, *given.values()))

    def with_protocol(self, protocol: ChatProtocol) -> "EpisodeSpec":
        """The same in another protocol."""
        return replace(self, protocol=protocol)


def shown_inputs(rollouts: Iterable[RolloutSettings], media: MediaStore) -> dict[str, str]:
    """The hash of what is shown before questions, as a run keeps it; nothing where nothing is shown."""
    files = dict.fromkeys((one.few_shot_file, one.few_shot) for one in rollouts if one.few_shot)
    if not files:
        return {}
    from saccade.rollout.shown_episodes import shown_hash

    return {"few_shot_sha256": shown_hash(files, media)}
