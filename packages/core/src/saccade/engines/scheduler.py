"""Scheduler of the local engine: decides which sequences run in each decode step.

One step is one forward over all sequences at work. In deterministic mode a sequence whose turn ends at step t rejoins
at step t + 4, so batches depend on the data alone: a tool that answers within that span costs nothing, a slower one is
waited for. Otherwise a step takes all sequences that are ready.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from saccade.engines.continuing import ImageTokens, check_continues
from saccade.engines.engine import Completion, Sampling
from saccade.engines.sampling import StopFinder
from saccade.errors import SaccadeError
from saccade.types import Finish, ImageRef, VersionSpan

_STEPS_BETWEEN_TURNS = 4
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
    def reach(self) -> int:
        """Tokens that it has when its open turn ends, at most."""
        return len(self.ids) + (0 if self.turn is None else self.turn.sampling.max_tokens - len(self.turn.ids))

    def next_uniforms(self, count: int) -> list[float]:
        """The next numbers of the trajectory's own stream, in [0, 1); each sampled token takes one."""
        while len(self._next_uniforms) < count:
            self._next_uniforms[:0] = self._uniforms.random(_UNIFORMS_AHEAD)[::-1].tolist()
        return self._next_uniforms[: -count - 1 : -1]

    def take_uniform(self) -> None:
        """A token was sampled with the next number."""
        self._next_uniforms.pop()

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
            self.ids, self.images, self.gives_row_up = [], [], self.has_row
        self.ids.extend(fresh)
        self.images.extend(fresh_images)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPlan:
    """One step: the sequences that give their row up, that go on with a turn, and that begin one."""

    leaving: tuple[LocalSequence, ...]
    decoding: tuple[LocalSequence, ...]
    joining: tuple[LocalSequence, ...]
    waiting: tuple[LocalSequence, ...]
    """Sequences that wait for a row."""


class Scheduler:
    """The sequences of one batch; at most ``max_rows`` hold a row, the others queue in the order of their labels.

    With ``cache_tokens`` one gets a row only where what all may write in their turns then fits, or where none has any.
    A batch that ``stays_open`` takes sequences that ``join`` it and goes on without any; time decides what is computed
    together, so it is never deterministic.
    """

    def __init__(
        self,
        labels: Sequence[str],
        image_tokens: ImageTokens,
        *,
        max_rows: int,
        deterministic: bool,
        cache_tokens: int | None = None,
        stays_open: bool = False,
    ) -> None:
        self.image_tokens = image_tokens
        self.version: int | None = None
        """Of the present weights, where they may change in the midst of the batch."""
        self.sequences = tuple(LocalSequence(self, label) for label in labels)
        self.step = -1
        self._max_rows = max_rows
        self._cache_tokens = cache_tokens
        self._deterministic = deterministic and not stays_open
        self._stays_open = stays_open
        self._present = list(self.sequences)
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    def join(self, label: str) -> LocalSequence:
        """One more sequence of a batch that stays open; SaccadeError after the engine has stopped."""
        self.check_usable()
        sequence = LocalSequence(self, label)
        self._present.append(sequence)
        return sequence

    def report(self) -> None:
        """Called by a sequence that asks for a turn or closes."""
        self._news.set()

    def check_usable(self) -> None:
        if self._failure is not None:
            raise SaccadeError(f"the engine has stopped: {self._failure}") from self._failure

    def fail(self, error: BaseException) -> None:
        """Ends all open turns and all later ones with this error, so that none waits for ever."""
        if self._failure is None:
            self._failure = error
            for sequence in self._present:
                sequence.refuse(error)

    def finish(self, sequence: LocalSequence, finish: Finish) -> None:
        """Hands the open turn's completion over and parks the sequence."""
        turn = sequence.open_turn
        if self.version is not None:
            turn.note_version(self.version)
        sequence.turn, sequence.is_running, sequence.due = None, False, self.step + _STEPS_BETWEEN_TURNS
        if not turn.answer.done():
            turn.answer.set_result(
                Completion(
                    ids=tuple(turn.ids),
                    logprobs=tuple(turn.logprobs),
                    finish=finish,
                    versions=tuple(turn.versions),
                    routed_experts=turn.routed_experts,
                    prefill_s=turn.prefill_s,
                )
            )

    def change_version(self, version: int) -> None:
        """Tokens are sampled by the weights of this version from here on."""
        for sequence in self._present:
            if self.version is not None and sequence.turn is not None:
                sequence.turn.note_version(self.version)
        self.version = version

    async def next_step(self) -> StepPlan | None:
        """Waits until the next step may run; None when every sequence is closed and none can join."""
        self.step += 1
        leaving: list[LocalSequence] = []
        while True:
            await self._all_due_have_reported()
            leaving += [*self._release_closed(), *self._release_ended_contexts()]
            joining, waiting = self._admit()
            decoding = tuple(sequence for sequence in self._present if sequence.is_running)
            for sequence in joining:
                sequence.has_row = sequence.is_running = True
            if joining or decoding:
                return StepPlan(
                    leaving=tuple(leaving), decoding=decoding, joining=tuple(joining), waiting=tuple(waiting)
                )
            if not self._present and not self._stays_open:
                return None
            await self._skip_idle_steps()

    def _is_due(self, sequence: LocalSequence) -> bool:
        return not self._deterministic or sequence.due <= self.step

    async def _all_due_have_reported(self) -> None:
        while self._deterministic and any(
            self._is_due(sequence) and not sequence.is_running and not sequence.has_reported
            for sequence in self._present
        ):
            await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _skip_idle_steps(self) -> None:
        if self._deterministic:
            # All that are due have been served or queue behind rows that are not: on to the step of the next of those.
            self.step = min(sequence.due for sequence in self._present if sequence.due > self.step)
        else:
            await self._wait_for_news()

    def _release_closed(self) -> list[LocalSequence]:
        """Sequences that leave now. One that was closed in the middle of a turn was cancelled: it leaves at once."""
        leaving = [one for one in self._present if one.is_closed and (one.is_running or self._is_due(one))]
        for sequence in leaving:
            self._present.remove(sequence)
            sequence.has_row = sequence.is_running = False
        return leaving

    def _release_ended_contexts(self) -> list[LocalSequence]:
        """Sequences that begin a new context now: they give their row up and ask for one like any other."""
        ended = [one for one in self._present if one.gives_row_up and not one.is_running and self._is_due(one)]
        for sequence in ended:
            sequence.has_row = sequence.gives_row_up = False
        return ended

    def _admit(self) -> tuple[list[LocalSequence], list[LocalSequence]]:
        """Sequences that begin a turn now, and sequences that have asked but find no free row."""
        asking = [
            one
            for one in self._present
            if one.turn is not None and not one.is_running and not one.is_closed and self._is_due(one)
        ]
        rowless = [sequence for sequence in asking if not sequence.has_row]
        admitted = rowless[: self._count_that_fit(rowless)]
        refused = rowless[len(admitted) :]
        return [sequence for sequence in asking if sequence.has_row or sequence in admitted], refused

    def _count_that_fit(self, rowless: Sequence[LocalSequence]) -> int:
        holding = [sequence for sequence in self._present if sequence.has_row]
        free = self._max_rows - len(holding)
        if self._cache_tokens is None:
            return max(0, min(free, len(rowless)))
        room = self._cache_tokens - sum(sequence.reach for sequence in holding)
        count = 0
        for sequence in rowless[:free]:
            room -= sequence.reach
            if room < 0 and (holding or count):
                break
            count += 1
        return count
