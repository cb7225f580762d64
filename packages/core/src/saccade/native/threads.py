"""Items of a kernel spread over threads, such that nobody works on them once the call has ended, however it ends.

An interrupt (Ctrl-C, SIGTERM) ends a call at any place, and what its caller then frees must not be written to.
Executors and events of the standard library lose a lock when they are interrupted; queues and locks that are written in
C do not.
"""

import functools
import os
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread


def spread(function: Callable[..., object], arguments: tuple[object, ...], *, items: int, threads: int) -> None:
    """Calls ``function(*arguments, begin, end)`` for parts of the items, one for each thread.

    The caller's thread is one of them. Raises what any of the calls raises, when none of them runs any more.
    """
    cuts = [items * part // threads for part in range(threads + 1)]
    parts = [_Part(functools.partial(function, *arguments, begin, end)) for begin, end in pairwise(cuts[1:])]
    try:
        team = _team()
        team.grow(len(parts))
        for part in parts:
            team.waiting.put(part)
        function(*arguments, 0, cuts[1])
        for part in parts:
            part.wait()
    except BaseException:
        for part in parts:
            part.settle()
        raise


class _Part:
    """What one thread does, at most once."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._claim, self._running = Lock(), Lock()
        self._running.acquire()

    def run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._work()
        except BaseException as error:  # It is the caller's.
            self._error = error
        finally:
            self._running.release()

    def wait(self) -> None:
        """Returns when it is done; raises what it raised."""
        with self._running:
            pass
        if self._error is not None:
            raise self._error

    def settle(self) -> None:
        """Returns when no thread works on it, nor ever will."""
        if not self._claim.acquire(blocking=False):
            with self._running:
                pass


class _Team:
    """Threads that wait for parts as long as the process lives."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[_Part] = SimpleQueue()
        self._threads: list[Thread] = []

    def grow(self, count: int) -> None:
        while len(self._threads) < count:
            self._threads.append(Thread(target=self._work, name="saccade-native", daemon=True))
            self._threads[-1].start()

    def _work(self) -> None:
        while True:
            self.waiting.get().run()


@functools.cache
def _team() -> _Team:
    return _Team()


os.register_at_fork(after_in_child=_team.cache_clear)
