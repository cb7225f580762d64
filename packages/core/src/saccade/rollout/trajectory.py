"""One trajectory, token by token: played by a model and an environment, or by an expert as a demonstration."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from saccade.engines.engine import EngineLostError, Sampling, SequenceSlot
from saccade.envs.environment import Environment, ExpertEnvironment
from saccade.envs.wrapped import fenced_actions
from saccade.errors import MachineError, UserError
from saccade.models.chat import Chat
from saccade.rollout.contexts import Contexts
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.types import (
    Clock,
    Example,
    ImageRef,
    Message,
    RoutedExperts,
    Segment,
    Tokens,
    ToolCall,
    Trajectory,
    TrajectoryStatus,
    TurnClock,
)

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

Prompts = dict[tuple[bool, tuple[Message, ...]], Tokens]
"""Rendered prompts, by whether earlier turns in them have lost their thoughts, and by their messages."""


class RunBlocking(Protocol):
    """Runs something that may take long beside the event loop."""

    def __call__(self, operation: Callable[[], Result], /) -> Awaitable[Result]: ...


@dataclass(kw_only=True, slots=True)
class Player:
    """Plays one request in one environment; ``segments`` hold what has happened so far.

    ``ids`` and ``images`` are those of the present context: all segments, unless the environment has begun a new one.
    """

    request: RolloutRequest
    env: Environment
    slot: SequenceSlot
    chat: Chat
    settings: RolloutSettings
    policy_version: int
    run_blocking: RunBlocking
    prompts: Prompts
    """Shared by a batch, so that a prompt is rendered once for its group."""
    records_experts: bool = False
    experts: list[bytes] = field(default_factory=list)
    """Of each context, where they are recorded."""
    segments: list[Segment] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    images: list[ImageRef] = field(default_factory=list)
    clocks: list[TurnClock] = field(default_factory=list)
    cut_turns: int = 0
    started_s: float = field(default_factory=time.monotonic)

    async def play(self) -> Trajectory:
        """The finished trajectory. Failures of tools end it ``failed``; errors of the engine itself are raised."""
        failure = ""
        try:
            await self._reset()
            status = await self._take_turns()
        except EngineLostError:
            raise
        except (MachineError, UserError) as error:
            status, failure = "failed", str(error)
        finally:
            self.slot.close()
            self.env.close()
        return Trajectory(
            task_id=self.request.task.id,
            family=self.request.task.family,
            stream=self.request.stream,
            sample=self.request.sample,
            seed=self.request.seed,
            policy_version=self.policy_version,
            segments=tuple(self.segments),
            turns=self.env.turns if self.segments else (),
            status=status,
            failure=failure,
            cut_turns=self.cut_turns,
            routed_experts=tuple(map(RoutedExperts, self.experts)),
            clock=Clock(turns=tuple(self.clocks)),
        )

    async def _take_turns(self) -> TrajectoryStatus:
        drops = self.settings.drops_old_thoughts
        contexts = Contexts(self.chat, self.env, drops_old_thoughts=drops)
        prompt = self.prompts.get((drops, self.env.prompt))
        if prompt is None:
            prompt = self.prompts[drops, self.env.prompt] = contexts.prompt()
        self._add(Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images))
        if len(self.ids) >= self.settings.max_tokens:
            raise UserError(
                f"the prompt takes {len(self.ids)} tokens of max_tokens={self.settings.max_tokens} and leaves no room "
                "to answer; raise max_tokens or let the model see smaller images"
                + (f", or show fewer than few_shot={self.settings.few_shot}" if self.settings.few_shot else "")
            )
        turn, begins_anew = 0, False
        while True:
            asked_s = time.monotonic()
            done = await self.slot.sample(self.ids, self.images, self._sampling(begins_anew=begins_anew))
            sampled_s = time.monotonic()
            self._keep_experts(done.routed_experts, begins_anew=begins_anew)
            self._add(Segment(role="action", turn=turn, ids=done.ids, logprobs=done.logprobs, versions=done.versions))
            said = self.chat.decode(done.ids)
            is_answered, is_out_of_turns = await self._step(said)
            self._clock(asked_s, sampled_s, done.prefill_s)
            if is_answered:
                return "answered"
            if done.finish == "length":
                if is_out_of_turns or not self.settings.corrects_cut_turns:
                    return "token_limit"
                self.cut_turns += 1
            if is_out_of_turns:
                return "turn_limit"
            is_ended = done.finish == "eos"
            shown = contexts.after(said, turn=turn, ends_with_eos=is_ended, ids=self.ids, images=self.images)
            begins_anew = shown.role == "prompt"
            if begins_anew:
                self.ids, self.images = [], []
            if len(self.ids) + len(shown.ids) >= self.settings.max_tokens:
                return "token_limit"
            self._add(shown)
            turn += 1

    def _keep_experts(self, routed_experts: bytes, *, begins_anew: bool) -> None:
        if self.records_experts and (begins_anew or not self.experts):
            self.experts.append(routed_experts)
        elif self.records_experts:
            self.experts[-1] += routed_experts

    def _clock(self, asked_s: float, sampled_s: float, prefill_s: float | None) -> None:
        self.clocks.append(
            TurnClock(
                start_s=asked_s - self.started_s,
                prefill_s=prefill_s,
                decode_s=sampled_s - asked_s - (prefill_s or 0.0),
                tool_s=time.monotonic() - sampled_s,
            )
        )

    def _add(self, segment: Segment) -> None:
        """Appends a segment; MachineError when its image tokens are not those of its images."""
        found = segment.ids.count(self.chat.image_token_id)
        expected = sum(self.chat.token_count(image) for image in segment.images)
        if found != expected:
            raise MachineError(
                f"the {segment.role} of turn {segment.turn + 1} holds {found} image tokens for {len(segment.images)} "
                f"images of {expected} tokens"
            )
        self.segments.append(segment)
        self.ids.extend(segment.ids)
        self.images.extend(segment.images)

    def _sampling(self, *, begins_anew: bool) -> Sampling:
        settings = self.settings
        return Sampling(
            seed=self.request.seed,
            max_tokens=min(settings.max_turn_tokens, settings.max_tokens - len(self.ids)),
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
            stop=self.env.stop,
            fenced_actions=fenced_actions(self.env),
            opening=self.chat.opening,
            begins_anew=begins_anew,
            records_experts=self.records_experts,
        )

    async def _reset(self) -> None:
        await self._attempt(
            "reset",
            lambda: self.env.reset(seed=self.request.seed, options={"task": self.request.task}),
            is_repeatable=lambda: True,
        )

    async def _step(self, text: str) -> tuple[bool, bool]:
        """(terminated, truncated) after the environment has taken the model's text."""
        before = len(self.env.turns)
        _, _, terminated, truncated, _ = await self._attempt(
            "step", lambda: self.env.step(text), is_repeatable=lambda: len(self.env.turns) == before
        )
        return terminated, truncated

    async def _attempt(
        self, what: str, operation: Callable[[], Result], *, is_repeatable: Callable[[], bool]
    ) -> Result:
        return await attempt(
            operation,
            what=what,
            label=self.request.label,
            settings=self.settings,
            run_blocking=self.run_blocking,
            is_repeatable=is_repeatable,
        )


async def attempt(
    operation: Callable[[], Result],
    *,
    what: str,
    label: str,
    settings: RolloutSettings,
    run_blocking: RunBlocking,
    is_repeatable: Callable[[], bool],
) -> Result:
    """Runs an operation of an environment, again after a while when it raises; at last a MachineError."""
    wait_s, retries = settings.retry_wait_s, settings.machine_retries
    while True:
        try:
            return await run_blocking(operation)
        except UserError:
            raise
        except Exception as error:  # Tools and environments are not ours: they may raise anything.
            if retries == 0 or not is_repeatable():
                raise MachineError(f"{what} of the environment: {type(error).__name__}: {error}") from error
            logger.info("trajectory %s: %s raised %r; trying again", label, what, error)
        await asyncio.sleep(wait_s)
        wait_s, retries = 2 * wait_s, retries - 1


def demonstrate(
    example: Example,
    *,
    env: Environment,
    chat: Chat,
    stream: str = "expert",
    may_fail: bool = False,
    drops_old_thoughts: bool = False,
) -> Trajectory:
    """The expert's turns as the environment writes them, with what the tools really answered.

    Action segments end with the end-of-turn token, so that the imitator learns to stop. Raises UserError when a turn
    is refused by the environment or its tool, or the last one is no answer: a demonstration must follow its own rules.
    With ``may_fail`` a tool that ran may have failed: the expert shows how to go on. ``drops_old_thoughts`` is that of
    ``RolloutSettings``.
    """
    expert_env = for_experts(env)
    env.reset(options={"task": example.task})
    contexts = Contexts(chat, env, drops_old_thoughts=drops_old_thoughts)
    prompt = contexts.prompt()
    segments = [Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images)]
    is_over = False
    for index, turn in enumerate(example.turns):
        if is_over:
            raise UserError(f"the expert of {example.task.id} goes on after the episode has ended")
        text = expert_env.write_turn(turn)
        spoken = chat.encode(text)
        _, _, terminated, truncated, _ = env.step(text)
        is_over = terminated or truncated
        end = chat.eos_id if is_over else chat.seen_end or chat.eos_id
        segments.append(Segment(role="action", turn=index, ids=(*spoken, end)))
        played = env.turns[-1]
        result = played.result
        is_refused = isinstance(turn.action, ToolCall) and (result is None or not (result.is_ok or may_fail))
        if is_refused or not played.is_well_formed:
            shown = played.observation.text if played.observation else played.text
            raise UserError(f"the expert's turn {index + 1} of {example.task.id} was refused: {shown}")
        if played.observation is not None and not is_over:
            segments.append(contexts.after(text, turn=index, ends_with_eos=True))
    if not is_over:
        raise UserError(f"the expert of {example.task.id} ends without an answer")
    return Trajectory(
        task_id=example.task.id,
        family=example.task.family,
        stream=stream,
        sample=0,
        seed=0,
        policy_version=0,
        segments=tuple(segments),
        turns=env.turns,
        status="answered" if terminated else "turn_limit",
    )


def for_experts(env: Environment) -> ExpertEnvironment:
    """The environment, if an expert can be played in it; UserError that says what it lacks."""
    if not isinstance(env, ExpertEnvironment):
        raise UserError(
            f"nothing can be imitated in {type(env).__name__}, which cannot write an expert's turns; give it a method "
            "write_turn(turn: ExpertTurn) -> str, or leave the imitation out"
        )
    return env
