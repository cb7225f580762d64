"""Who takes part in the next tick of the local engine: seats, their queue, and a time that no clock drives.

A tick is one forward for all rows that are at work. In deterministic mode a seat whose turn ended in tick t takes part
again in tick t + 4, neither earlier nor later: a tool that answers within that span costs nothing, a slower one is
waited for. What is batched together is then a function of the data alone. Otherwise a tick takes whoever is ready.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from saccade.engines.engine import Completion, Sampling
from saccade.engines.stops import StopFinder
from saccade.errors import SaccadeError
from saccade.types import Finish, ImageRef

_TICKS_BETWEEN_TURNS = 4
_UNIFORMS_AHEAD = 64


class ImageTokens(Protocol):
    """What a seat must know to check that every placeholder has its image."""

    def count_in(self, ids: Sequence[int]) -> int: ...

    def count_of(self, image: ImageRef) -> int: ...


@dataclass(eq=False, kw_only=True, slots=True)
class OpenTurn:
    """A turn that was asked for and is not yet finished."""

    sampling: Sampling
    answer: asyncio.Future[Completion]
    stops: StopFinder
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class LocalSeat:
    """A trajectory's place at the local engine; ``ids`` and ``images`` are all that it was given or sampled."""

    def __init__(self, seating: "Seating", label: str) -> None:
        self.label = label
        self.ids: list[int] = []
        self.images: list[ImageRef] = []
        self.turn: OpenTurn | None = None
        self.due = 0
        """The tick in which this seat takes part again, unless it is running."""
        self.has_row = False
        self.is_running = False
        self.is_closed = False
        self._seating = seating
        self._seed: int | None = None
        self._uniforms = np.random.Generator(np.random.PCG64(0))
        self._next_uniforms: list[float] = []
        """Some of them ahead, the next one last, since drawing them one by one takes longer."""

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continues ``ids``; ValueError when they do not extend this seat's sequence or images do not match them."""
        self._accept(ids, images, sampling)
        self.turn = OpenTurn(
            sampling=sampling,
            answer=asyncio.get_running_loop().create_future(),
            stops=StopFinder(sampling.stop),
        )
        self._seating.report()
        try:
            return await self.turn.answer
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self.refuse(SaccadeError(f"seat {self.label!r} was closed while it was sampling"))
        self._seating.report()

    def refuse(self, error: BaseException) -> None:
        """Ends the open turn, if there is one, with an error for whoever waits for it."""
        if self.turn is not None and not self.turn.answer.done():
            self.turn.answer.set_exception(error)

    def next_uniform(self) -> float:
        """The next number of the trajectory's own stream, in [0, 1); one for each sampled token."""
        if not self._next_uniforms:
            self._next_uniforms = self._uniforms.random(_UNIFORMS_AHEAD)[::-1].tolist()
        return self._next_uniforms.pop()

    @property
    def open_turn(self) -> OpenTurn:
        if self.turn is None:
            raise ValueError(f"seat {self.label!r} has no open turn")
        return self.turn

    @property
    def has_reported(self) -> bool:
        return self.turn is not None or self.is_closed

    def _accept(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> None:
        self._seating.check_usable()
        if self.is_closed or self.turn is not None:
            raise ValueError(f"seat {self.label!r} is {'closed' if self.is_closed else 'already sampling'}")
        extends = list(ids[: len(self.ids)]) == self.ids and list(images[: len(self.images)]) == self.images
        if not ids or not extends:
            raise ValueError(f"seat {self.label!r}: the sequence must extend the {len(self.ids)} tokens before it")
        fresh, fresh_images = ids[len(self.ids) :], images[len(self.images) :]
        expected = sum(self._seating.image_tokens.count_of(image) for image in fresh_images)
        if self._seating.image_tokens.count_in(fresh) != expected:
            raise ValueError(
                f"seat {self.label!r}: {self._seating.image_tokens.count_in(fresh)} image tokens "
                f"for {len(fresh_images)} images of {expected} tokens"
            )
        if sampling.max_tokens < 1 or self._seed not in (None, sampling.seed):
            raise ValueError(
                f"seat {self.label!r}: max_tokens={sampling.max_tokens} must be positive and seed={sampling.seed} the "
                f"same in every turn (was {self._seed})"
            )
        if self._seed is None:
            self._seed = sampling.seed
            self._uniforms = np.random.Generator(np.random.PCG64(sampling.seed))
        self.ids.extend(fresh)
        self.images.extend(fresh_images)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Who takes part in a tick: seats whose row is given up, those in the middle of a turn, those that begin one."""

    leaving: tuple[LocalSeat, ...]
    decoding: tuple[LocalSeat, ...]
    joining: tuple[LocalSeat, ...]
    waiting: tuple[LocalSeat, ...]
    """Seats that have asked but must wait for a row."""


class Seating:
    """The seats of one batch; at most ``max_rows`` hold a row, the others queue in the order of their labels."""

    def __init__(self, labels: Sequence[str], image_tokens: ImageTokens, *, max_rows: int, deterministic: bool) -> None:
        self.image_tokens = image_tokens
        self.seats = tuple(LocalSeat(self, label) for label in labels)
        self.tick = -1
        self._max_rows = max_rows
        self._deterministic = deterministic
        self._present = list(self.seats)
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    def report(self) -> None:
        """Called by a seat that asks for a turn or closes."""
        self._news.set()

    def check_usable(self) -> None:
        if self._failure is not None:
            raise SaccadeError(f"the engine has stopped: {self._failure}") from self._failure

    def fail(self, error: BaseException) -> None:
        """Nobody shall wait for ever: all open turns and all later ones end with this error."""
        if self._failure is None:
            self._failure = error
            for seat in self.seats:
                seat.refuse(error)

    def finish(self, seat: LocalSeat, finish: Finish) -> None:
        """Hands the open turn's completion over and parks the seat."""
        turn = seat.open_turn
        seat.turn, seat.is_running, seat.due = None, False, self.tick + _TICKS_BETWEEN_TURNS
        if not turn.answer.done():
            turn.answer.set_result(Completion(ids=tuple(turn.ids), logprobs=tuple(turn.logprobs), finish=finish))

    async def next_tick(self) -> Plan | None:
        """Waits until the next tick may run; None when every seat is closed."""
        self.tick += 1
        leaving: list[LocalSeat] = []
        while True:
            await self._all_due_have_reported()
            leaving += self._release_closed()
            joining, waiting = self._admit()
            decoding = tuple(seat for seat in self._present if seat.is_running)
            for seat in joining:
                seat.has_row = seat.is_running = True
            if joining or decoding:
                return Plan(leaving=tuple(leaving), decoding=decoding, joining=tuple(joining), waiting=tuple(waiting))
            if not self._present:
                return None
            await self._pass_idle_time()

    def _is_due(self, seat: LocalSeat) -> bool:
        return not self._deterministic or seat.due <= self.tick

    async def _all_due_have_reported(self) -> None:
        while self._deterministic and any(
            self._is_due(seat) and not seat.is_running and not seat.has_reported for seat in self._present
        ):
            await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _pass_idle_time(self) -> None:
        if self._deterministic:
            # Whoever is due has been served or queues behind rows that are not: time goes on to the next of those.
            self.tick = min(seat.due for seat in self._present if seat.due > self.tick)
        else:
            await self._wait_for_news()

    def _release_closed(self) -> list[LocalSeat]:
        """Seats that leave now. A seat closed in the middle of a turn was cancelled: it leaves at once."""
        leaving = [seat for seat in self._present if seat.is_closed and (seat.is_running or self._is_due(seat))]
        for seat in leaving:
            self._present.remove(seat)
            seat.has_row = seat.is_running = False
        return leaving

    def _admit(self) -> tuple[list[LocalSeat], list[LocalSeat]]:
        """Seats that begin a turn now, and seats that have asked but find no free row."""
        asking = [
            seat
            for seat in self._present
            if seat.turn is not None and not seat.is_running and not seat.is_closed and self._is_due(seat)
        ]
        free = self._max_rows - sum(seat.has_row for seat in self._present)
        rowless = [seat for seat in asking if not seat.has_row]
        refused = {id(seat) for seat in rowless[free:]}
        return [seat for seat in asking if id(seat) not in refused], rowless[free:]
