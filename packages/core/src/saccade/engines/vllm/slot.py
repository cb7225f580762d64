"""A sequence at vLLM: its ids, from which any server can go on."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Protocol

from saccade.engines.engine import Completion, Sampling
from saccade.engines.sampling import StopFinder
from saccade.engines.vllm.wire import BadReplyError, SampledTokens
from saccade.errors import SaccadeError
from saccade.seeding import seed_for
from saccade.types import Finish, ImageRef, VersionSpan


class AskTokens(Protocol):
    """Tokens that follow from ``ids``, by the engine's newest weights."""

    def __call__(
        self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling, *, seed: int, max_tokens: int
    ) -> Awaitable[SampledTokens]: ...


class SlotRules(Protocol):
    """What a slot asks of its engine besides tokens."""

    @property
    def end_ids(self) -> frozenset[int]: ...

    def check(self, slot: "VllmSlot", ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> None: ...

    def token_bytes(self, token: int) -> bytes: ...

    def versions_of(self, weights: Sequence[str]) -> tuple[VersionSpan, ...]: ...


class VllmSlot:
    """A sequence, which is its ids: vLLM finds keys and values of the turns before in its prefix cache."""

    def __init__(self, label: str, rules: SlotRules, ask: AskTokens) -> None:
        self.label = label
        self.ids: list[int] = []
        self.images: list[ImageRef] = []
        self.seed: int | None = None
        self._rules = rules
        self._ask = ask
        self._turn = 0
        self._asking: asyncio.Task[Completion] | None = None
        self._is_closed = False

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continues ``ids``; ValueError when they do not extend what was there before, or images do not match them."""
        if self._is_closed or self._asking is not None:
            raise ValueError(f"sequence {self.label!r} is {'closed' if self._is_closed else 'already sampling'}")
        self._rules.check(self, ids, images, sampling)
        self.seed = sampling.seed
        self.ids, self.images = list(ids), list(images)
        self._asking = asyncio.create_task(self._sample_to_stop(sampling))
        try:
            done = await self._asking
        except asyncio.CancelledError:
            if not _is_cancelled():
                raise SaccadeError(f"sequence {self.label!r} was closed while it was sampling") from None
            self.close()
            raise
        finally:
            self._asking = None
        self.ids.extend(done.ids)
        self._turn += 1
        return done

    def close(self) -> None:
        """vLLM stops a request whose connection closes."""
        self._is_closed = True
        if self._asking is not None:
            self._asking.cancel()

    async def _sample_to_stop(self, sampling: Sampling) -> Completion:
        """The turn, ended where our own ``StopFinder`` ends it."""
        stops = StopFinder(sampling.stop, sampling.fenced_actions, sampling.opening)
        said: list[int] = []
        logprobs: list[float] = []
        weights: list[str] = []
        while True:
            found = await self._ask(
                [*self.ids, *said],
                self.images,
                sampling,
                seed=seed_for(sampling.seed, "turn", self._turn, len(said)),
                max_tokens=sampling.max_tokens - len(said),
            )
            if not found.ids:
                raise BadReplyError("the engine sampled no token where at least one was asked for")
            for token, logprob, by in zip(found.ids, found.logprobs, found.weights, strict=True):
                is_stop = stops.completes(self._rules.token_bytes(token))
                said.append(token)
                logprobs.append(logprob)
                weights.append(by)
                finish: Finish | None = "eos" if token in self._rules.end_ids else "stop" if is_stop else None
                if finish is None and len(said) >= sampling.max_tokens:
                    finish = "length"
                if finish is not None:
                    versions = self._rules.versions_of(weights)
                    return Completion(ids=tuple(said), logprobs=tuple(logprobs), finish=finish, versions=versions)


def _is_cancelled() -> bool:
    """Whether the task that waits was cancelled, and not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
