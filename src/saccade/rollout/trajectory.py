"""One trajectory: a model and an environment taking turns, token by token as it happened."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from saccade.engines.engine import EngineLostError, Sampling, SequenceSlot
from saccade.envs.environment import Environment
from saccade.errors import MachineError, UserError
from saccade.models.chat import Chat
from saccade.rollout.settings import RolloutRequest, RolloutSettings
from saccade.types import ImageRef, Message, Observation, Segment, Tokens, Trajectory, TrajectoryStatus

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class RunBlocking(Protocol):
    """Runs something that may take long beside the event loop."""

    def __call__(self, operation: Callable[[], Result], /) -> Awaitable[Result]: ...


@dataclass(kw_only=True, slots=True)
class Player:
    """Plays one request in one environment; ``segments`` hold what has happened so far."""

    request: RolloutRequest
    env: Environment
    slot: SequenceSlot
    chat: Chat
    settings: RolloutSettings
    policy_version: int
    run_blocking: RunBlocking
    prompts: dict[tuple[Message, ...], Tokens]
    """Shared by a batch, so that a prompt is rendered once for its group."""
    segments: list[Segment] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    images: list[ImageRef] = field(default_factory=list)

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
        )

    async def _take_turns(self) -> TrajectoryStatus:
        prompt = self._prompt()
        self._add(Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images))
        if len(self.ids) >= self.settings.max_tokens:
            raise UserError(
                f"the prompt takes {len(self.ids)} tokens of max_tokens={self.settings.max_tokens} and leaves no room "
                "to answer; raise max_tokens or let the model see smaller images"
            )
        turn = 0
        while True:
            done = await self.slot.sample(self.ids, self.images, self._sampling())
            self._add(Segment(role="action", turn=turn, ids=done.ids, logprobs=done.logprobs))
            is_answered, is_out_of_turns = await self._step(self.chat.decode(done.ids))
            if is_answered:
                return "answered"
            if done.finish == "length":
                return "token_limit"
            if is_out_of_turns:
                return "turn_limit"
            shown = self.chat.observation(self._observation(), ends_with_eos=done.finish == "eos")
            if len(self.ids) + len(shown.ids) >= self.settings.max_tokens:
                return "token_limit"
            self._add(Segment(role="observation", turn=turn, ids=shown.ids, images=shown.images))
            turn += 1

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

    def _prompt(self) -> Tokens:
        messages = self.env.prompt
        if messages not in self.prompts:
            self.prompts[messages] = self.chat.prompt(messages)
        return self.prompts[messages]

    def _sampling(self) -> Sampling:
        settings = self.settings
        return Sampling(
            seed=self.request.seed,
            max_tokens=min(settings.max_turn_tokens, settings.max_tokens - len(self.ids)),
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
            stop=self.env.stop,
        )

    def _observation(self) -> Observation:
        observation = self.env.turns[-1].observation
        if observation is None:
            raise MachineError(f"the environment went on after turn {len(self.env.turns)} but showed nothing")
        return observation

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
        """Runs an operation of the environment, again after a while when it raises; at last a MachineError."""
        wait_s, retries = self.settings.retry_wait_s, self.settings.machine_retries
        while True:
            try:
                return await self.run_blocking(operation)
            except UserError:
                raise
            except Exception as error:  # Tools and environments are not ours: they may raise anything.
                if retries == 0 or not is_repeatable():
                    raise MachineError(f"{what} of the environment: {type(error).__name__}: {error}") from error
                logger.info("trajectory %s: %s raised %r; trying again", self.request.label, what, error)
            await asyncio.sleep(wait_s)
            wait_s, retries = 2 * wait_s, retries - 1
