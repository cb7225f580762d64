"""Memory of decoding: what all threads of a process may take together, given out in the order in which they ask."""

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from saccade.errors import UserError

VARIABLE = "SACCADE_DECODING_MB"
"""Names the megabytes (MiB) that pictures which are being decoded may take together in a process."""
_USUAL_BYTES = 1 << 30
_UNCOUNTED_BYTES = 8 << 20
"""Small pictures do not wait: an event loop may decode them itself."""


class ByteBudget:
    """A number of bytes that threads share; whoever asks first is served first, so that a large share comes too."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = total
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    @property
    def waiting(self) -> int:
        """Threads that wait for their share."""
        return len(self._line)

    @contextmanager
    def share(self, need: int) -> Iterator[None]:
        """So many bytes until the end; more than there are in all is all of them, so nobody waits for ever.

        A thread that has a share must not ask for another.
        """
        if need <= _UNCOUNTED_BYTES:
            yield
            return
        taken = min(need, self.total)
        place = object()
        with self._changed:
            self._line.append(place)
            try:
                self._changed.wait_for(lambda: self._line[0] is place and self._free >= taken)
                self._free -= taken
            finally:
                self._line.remove(place)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()

    def forget_shares(self) -> None:
        """Begins anew: what other threads of a forked process hold is not held in this one."""
        self.__init__(self.total)  # type: ignore[misc]


def _total_bytes() -> int:
    given = os.environ.get(VARIABLE, "")
    if not given:
        return _USUAL_BYTES
    if not (given.isascii() and given.isdecimal()) or not 0 < int(given) < 1 << 30:
        raise UserError(f"{VARIABLE}={given[:20]!r} is no number of MiB; use one such as 1024, or leave it out")
    return int(given) << 20


DECODING = ByteBudget(_total_bytes())
"""The process's own."""

os.register_at_fork(after_in_child=DECODING.forget_shares)
