"""What a process is at while a person waits: phases have the words, and a heart tells of those that last."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

FIRST_S, MOST_S = 9.0, 120.0
"""Silence before the first word, and between two of them at most: each is twice as long as the one before."""
_LOOK_EVERY_S = 0.5

Words = Callable[[], str]
"""Says what is done; another thread asks, at any time and seldom."""

_Item = TypeVar("_Item")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Phase:
    words: Words
    started_s: float


class Phases:
    """The phases that are open, in each thread the innermost last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._open: dict[int, list[_Phase]] = {}

    @contextmanager
    def phase(self, words: Words) -> Iterator[None]:
        """Inside, this is what the thread is at."""
        thread, phase = threading.get_ident(), _Phase(words, self.clock())
        self._open.setdefault(thread, []).append(phase)
        try:
            yield
        finally:
            # Tasks of one event loop do not end in the order in which they began.
            self._open[thread].remove(phase)
            if not self._open[thread]:
                del self._open[thread]

    @contextmanager
    def counted(self, what: str, items: Sequence[_Item], of: str) -> Iterator[Iterator[_Item]]:
        """Gives the items; while they are gone through, the phase says how many of them are done."""
        done = 0

        def each() -> Iterator[_Item]:
            nonlocal done
            for item in items:
                yield item
                done += 1

        with self.phase(lambda: f"{what}: {done} of {len(items)} {of}"):
            yield each()

    def in_words(self) -> str:
        """What all threads are at, and for how many seconds; empty where no phase is open."""
        threads = [phases for each in list(self._open.values()) if (phases := list(each))]
        return "; ".join(
            f"{': '.join(phase.words() for phase in phases)}, {self.clock() - phases[-1].started_s:,.0f} s"
            for phases in threads
        )


PHASES = Phases()
"""Those of this process."""

phase, counted = PHASES.phase, PHASES.counted


class Heart:
    """Has ``tell`` called with what is done when nothing was told for a while, and then at growing intervals."""

    def __init__(
        self, tell: Callable[[str], None], *, phases: Phases = PHASES, first_s: float = FIRST_S, most_s: float = MOST_S
    ) -> None:
        self._tell = tell
        self._phases = phases
        self._first_s, self._most_s = first_s, most_s
        self.quicken()

    def quicken(self) -> None:
        """Something new begins: the intervals are short again."""
        self._wait_s = self._first_s
        self.rest()

    def rest(self) -> None:
        """Others have told something."""
        self._told_s = self._phases.clock()

    def beat(self) -> None:
        """Tells what is done, if it is time."""
        now_s = self._phases.clock()
        if now_s - self._told_s >= self._wait_s and (words := self._phases.in_words()):
            self._told_s, self._wait_s = now_s, min(2 * self._wait_s, self._most_s)
            self._tell(words)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Inside, a thread of its own sees to it, which never keeps the process alive."""
        is_over = threading.Event()

        def look() -> None:
            while not is_over.wait(_LOOK_EVERY_S):
                try:
                    self.beat()
                except Exception:  # What is counted changes meanwhile; the next look is soon.
                    logger.debug("what is done could not be told", exc_info=True)

        thread = threading.Thread(target=look, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(timeout=1.0)
