"""A sequence of the local engine: what its caller sees of it, what the scheduler counts, and its open turn."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from saccade.engines.continuing import check_continues
from saccade.engines.engine import Completion, Sampling
from saccade.engines.sampling import StopFinder
from saccade.errors import SaccadeError
from saccade.types import ImageRef, VersionSpan

if TYPE_CHECKING:
    from saccade.engines.scheduler import Scheduler

_UNIFORMS_AHEAD = 64


@dataclass(eq=False, kw_only=True, slots=True)
class OpenTurn:
    """A turn that was asked for and is not yet finished."""

    sampling: Sampling
    answer: asyncio.Future[Completion]
    stops: StopFinder
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[VersionSpan] = field(default_factory=list)
    """Of tokens before the weights changed."""
    routed_experts: bytes = b""
    """As in its completion."""
    asked_s: float = field(default_factory=time.monotonic)
    prefill_s: float | None = None
    """From the asking to the first token."""

    def note_version(self, version: int) -> None:
        """The tokens since the last change were sampled by the weights of this version."""
        start = self.versions[-1].end if self.versions else 0
        if len(self.ids) > start:
            self.versions.append(VersionSpan(version=version, start=start, end=len(self.ids)))

    def note_first(self) -> None:
        """A token is there; called with each."""
        if self.prefill_s is None:
            self.prefill_s = time.monotonic() - self.asked_s


class LocalSequence:
    """The local engine's ``SequenceSlot``; ``ids`` and ``images`` are all that it was given or sampled."""

    def __init__(self, scheduler: "Scheduler", label: str) -> None:
        self.label = label
        self.ids: list[int] = []
        self.images: list[ImageRef] = []
        self.turn: OpenTurn | None = None
        self.due = 0
        """The step at which this sequence rejoins, unless it is running."""
        self.has_row = False
        self.gives_row_up = False
        """Whether its row holds a context that has ended."""
        self.cached = 0
        """Tokens that it had when its last turn ended."""
        self.told = 0
        """Tokens of its context whose experts its completions have told."""
        self.is_running = False
        self.is_closed = False
        self._scheduler = scheduler
        self._seed: int | None = None
        self._uniforms = np.random.Generator(np.random.PCG64(0))
        self._next_uniforms: list[float] = []
        """Some of them ahead, the next one last, since drawing them one by one takes longer."""

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continues ``ids``; ValueError when they do not extend what was there before, or images do not match them.

        With ``begins_anew`` they need not: the row is given up when the next step is planned.
        """
        self._accept(ids, images, sampling)
        self.turn = OpenTurn(
            sampling=sampling,
            answer=asyncio.get_running_loop().create_future(),
            stops=StopFinder(sampling.stop, sampling.fenced_actions, sampling.opening),
        )
        self._scheduler.report()
        try:
            return await self.turn.answer
        except asyncio.CancelledError:
            self.close()
            raise

    def sampled_so_far(self) -> Completion:
        """The open turn's tokens up to now; see ``ShowsOpenTurn``."""
        if self.turn is None:
            return Completion(ids=(), logprobs=(), finish="length")
        return Completion(ids=tuple(self.turn.ids), logprobs=tuple(self.turn.logprobs), finish="length")

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self.refuse(SaccadeError(f"sequence {self.label!r} was closed while it was sampling"))
        self._scheduler.report()

    def refuse(self, error: BaseException) -> None:
        """Ends the open turn, if there is one, with an error."""
        if self.turn is not None and not self.turn.answer.done():
            self.turn.answer.set_exception(error)

    @property
    def held(self) -> int:
        """Tokens that its row holds: all but the last, which is yet to be forwarded."""
        return 0 if not self.has_row else (len(self.ids) if self.is_running else self.cached) - 1

    def due_tokens(self, ahead: int) -> int:
        """Tokens that its row comes to hold in the next step, and so many ahead of them in its turn."""
        left = 0 if self.turn is None else self.turn.sampling.max_tokens - len(self.turn.ids)
        return len(self.ids) + min(left, ahead)

    def next_uniform(self) -> float:
        """The next number of the trajectory's own stream, in [0, 1); one for each sampled token."""
        if not self._next_uniforms:
            self._next_uniforms = self._uniforms.random(_UNIFORMS_AHEAD)[::-1].tolist()
        return self._next_uniforms.pop()

    def return_uniforms(self, unused: Sequence[float]) -> None:
        """The last numbers sampled nothing and are the next ones again."""
        self._next_uniforms.extend(reversed(unused))

    @property
    def open_turn(self) -> OpenTurn:
        if self.turn is None:
            raise ValueError(f"sequence {self.label!r} has no open turn")
        return self.turn

    @property
    def has_reported(self) -> bool:
        return self.turn is not None or self.is_closed

    def _accept(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> None:
        self._scheduler.check_usable()
        if self.is_closed or self.turn is not None:
            raise ValueError(f"sequence {self.label!r} is {'closed' if self.is_closed else 'already sampling'}")
        held, held_images = ([], []) if sampling.begins_anew else (self.ids, self.images)
        check_continues(self, ids, images, sampling, seed=self._seed, image_tokens=self._scheduler.image_tokens)
        fresh, fresh_images = ids[len(held) :], images[len(held_images) :]
        if self._seed is None:
            self._seed = sampling.seed
            self._uniforms = np.random.Generator(np.random.PCG64(sampling.seed))
        if sampling.begins_anew:
            self.ids, self.images, self.gives_row_up, self.told = [], [], self.has_row, 0
        self.ids.extend(fresh)
        self.images.extend(fresh_images)
