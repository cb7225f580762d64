"""Batches that are played before they are learned from: so many steps ahead, in turn with learning or beside it.

Batch k + s is played with the weights of step k. That is decided by numbers and never by the clock, so a run has the
same bytes whether its rollouts run beside learning or in turn with it, and whatever is faster.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future

from saccade.heartbeat import phase
from saccade.train.collect import Batch


class BatchesAhead:
    """Batches in the order of their steps; ``waiting`` are those that were played and not yet learned from."""

    def __init__(self, collect: Callable[[int], Batch], *, staleness: int, steps: int) -> None:
        """``collect`` plays the batch of a step with the engine's present weights; ``steps`` are those of the stage."""
        self.waiting: deque[Batch] = deque()
        self._collect = collect
        self._staleness = staleness
        self._steps = steps
        self._playing: Future[list[Batch]] | None = None

    def take(self, step: int) -> tuple[Batch, Sequence[Batch]]:
        """The batch of this step, and those that had to be played for it to be ``staleness`` batches ahead."""
        fresh = [self._collect(later) for later in self._missing(step)]
        self.waiting.extend(fresh)
        return self.waiting.popleft(), fresh

    def take_beside(self, step: int) -> Batch:
        """The batch of this step, which must be waiting; what has to be played for later steps begins now.

        It runs in a thread until ``settle``. The engine's weights must not change before that.
        """
        self._playing = _start_collecting(self._collect, self._missing(step))
        return self.waiting.popleft()

    def is_missing(self, step: int) -> bool:
        """Whether a batch has to be played in this step."""
        return bool(self._missing(step))

    def settle(self) -> float:
        """Waits for the batches that are played beside; returns the seconds that it took. Raises what they raised."""
        if self._playing is None:
            return 0.0
        started_s = time.monotonic()
        playing, self._playing = self._playing, None
        with phase(lambda: "waiting for what is played beside"):
            self.waiting.extend(playing.result())
        return time.monotonic() - started_s

    def _missing(self, step: int) -> range:
        last = min(step + self._staleness, self._steps - 1)
        return range(step + len(self.waiting), last + 1)


def _start_collecting(collect: Callable[[int], Batch], steps: Iterable[int]) -> "Future[list[Batch]]":
    """The batches of these steps, one after the other in a thread of their own."""
    future: Future[list[Batch]] = Future()

    def play() -> None:
        try:
            future.set_result([collect(step) for step in steps])
        except BaseException as error:  # Belongs to the thread that waits.
            future.set_exception(error)

    # A daemon: where learning fails, the engine is closed and ends the rollout; nothing has to wait for it.
    threading.Thread(target=play, name="rollout", daemon=True).start()
    return future
