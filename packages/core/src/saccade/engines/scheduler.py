"""Scheduler of the local engine: decides which sequences run in each decode step.

One step is one forward over all sequences at work. In deterministic mode a sequence whose turn ends at step t rejoins
at step t + 4, so batches depend on the data alone: a tool that answers within that span costs nothing, a slower one is
waited for. Otherwise a step takes all sequences that are ready.
"""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from saccade.engines.continuing import ImageTokens, check_continues
from saccade.engines.engine import Completion, Sampling
from saccade.engines.sampling import StopFinder
from saccade.errors import SaccadeError
from saccade.types import Finish, ImageRef, VersionSpan

_STEPS_BETWEEN_TURNS = 4
_LEAST_AHEAD, _SHARE_AHEAD = 64, 4
"""Tokens that a row is given room for when rows are opened: so many, or this part of what it has. It may have to be
forwarded anew where that does not last."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPlan:
    """One step: the sequences that give their row up, that go on with a turn, and that begin one."""

    leaving: tuple[LocalSequence, ...]
    decoding: tuple[LocalSequence, ...]
    joining: tuple[LocalSequence, ...]
    waiting: tuple[LocalSequence, ...]
    """Sequences that wait for a row."""
    is_short: bool = False
    """Whether memory does not hold all that would be open: what nobody asks for is to be given up."""


class Room(Protocol):
    """What holds keys and values, in pages of so many tokens."""

    @property
    def page(self) -> int: ...

    def free_tokens(self, wanted: int) -> int:
        """For how many tokens there are pages that no row has; those ``wanted`` are looked for."""
        ...


class Scheduler:
    """The sequences of one batch; at most ``max_rows`` hold a row, the others queue in the order of their labels.

    With ``cache_tokens``, and with a ``memory`` that says for how many more tokens it has room, as many have a row as
    fit: one gets it where the next tokens of all fit, and where these no longer do, the last ones give theirs up for
    now, though never all. They keep what they have sampled, and are forwarded anew. ``drafted`` tokens may be written
    ahead in a step.
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
        memory: Room | None = None,
        drafted: int = 0,
        stays_open: bool = False,
    ) -> None:
        self.image_tokens = image_tokens
        self.version: int | None = None
        """Of the present weights, where they may change in the midst of the batch."""
        self.sequences = tuple(LocalSequence(self, label) for label in labels)
        self.step = -1
        self._max_rows = max_rows
        self._cache_tokens = cache_tokens
        self._memory = memory
        self._drafted = drafted
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
        turn, sequence.cached = sequence.open_turn, len(sequence.ids)
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
            leaving += (given_up := self._give_up_rows())
            joining, waiting = self._admit()
            decoding = tuple(sequence for sequence in self._present if sequence.is_running)
            for sequence in joining:
                sequence.has_row = sequence.is_running = True
            if joining or decoding:
                has_row = sum(sequence.has_row for sequence in self._present)
                return StepPlan(
                    leaving=tuple(leaving),
                    decoding=decoding,
                    joining=tuple(joining),
                    waiting=tuple(waiting),
                    is_short=bool(given_up or (waiting and has_row < self._max_rows)),
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
        most = max(0, min(self._max_rows - len(holding), len(rowless)))
        count = bisect_left(
            range(1, most + 1), True, key=lambda count: not self._fit([*holding, *rowless[:count]], ahead=True)
        )
        return count if holding else max(count, min(1, most))

    def _give_up_rows(self) -> list[LocalSequence]:
        """Sequences whose rows memory has no room for in the next step: the last ones, never all."""
        holding = [sequence for sequence in self._present if sequence.has_row]
        given_up = []
        while len(holding) > 1 and not self._fit(holding, ahead=False):
            last = holding.pop()
            last.has_row = last.is_running = False
            given_up.append(last)
        return given_up

    def _fit(self, sequences: Sequence[LocalSequence], *, ahead: bool) -> bool:
        """Whether memory holds what the rows of sequences come to; others have none."""
        if self._cache_tokens is None and self._memory is None:
            return True
        due = [
            one.due_tokens(max(_LEAST_AHEAD, len(one.ids) // _SHARE_AHEAD) if ahead else self._drafted)
            for one in sequences
        ]
        if self._cache_tokens is not None and sum(due) > self._cache_tokens:
            return False
        if self._memory is None:
            return True
        page = self._memory.page
        more = page * sum(-(-end // page) - -(-one.held // page) for one, end in zip(sequences, due))
        return more <= self._memory.free_tokens(more)
