"""Warm parents of sandboxes that outlive their sandbox, for tests that are not about how one starts and ends.

A warm parent takes seconds of CPU time to start, and each session is a fork of it, with nothing of the sessions before.
"""

import atexit

from saccade.sandbox.parent import WarmParent
from saccade.sandbox.results import Isolation, Limits

_IDLE: dict[tuple[Isolation, Limits], list["_KeptParent"]] = {}


class _KeptParent(WarmParent):
    """A warm parent that waits for the next sandbox of its kind when it is closed."""

    def __init__(self, isolation: Isolation, limits: Limits) -> None:
        self._kind = (isolation, limits)
        self._has_started = False
        super().__init__(isolation, limits)
        self._has_started = True

    def close(self) -> None:
        if self._has_started and self.is_alive:
            _IDLE.setdefault(self._kind, []).append(self)
        else:
            self.end()

    def end(self) -> None:
        super().close()


def kept_parent(isolation: Isolation, limits: Limits) -> WarmParent:
    """A warm parent that no sandbox has now, or a new one."""
    idle = _IDLE.get((isolation, limits), [])
    while idle:
        parent = idle.pop()
        if parent.is_alive:
            return parent
        parent.end()
    return _KeptParent(isolation, limits)


@atexit.register
def _end() -> None:
    for parents in _IDLE.values():
        for parent in parents:
            parent.end()
