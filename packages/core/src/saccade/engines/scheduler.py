"""Scheduler of the local engine: decides which sequences run in each decode step.

One step is one forward over all sequences at work. In deterministic mode a sequence whose turn ends at step t rejoins
at step t + 4, so batches depend on the data alone: a tool that answers within that span costs nothing, a slower one is
waited for. Otherwise a step takes all sequences that are ready.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from saccade.engines.continuing import ImageTokens
from saccade.engines.engine import Completion
from saccade.engines.local_sequence import LocalSequence
from saccade.errors import SaccadeError
from saccade.types import Finish

_STEPS_BETWEEN_TURNS = 4
_LEAST_AHEAD, _SHARE_AHEAD = 64, 4
"""Tokens that a row is given room for when rows are opened: so many, or this part of what it has. It may have to be
forwarded anew where that does not last."""


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
