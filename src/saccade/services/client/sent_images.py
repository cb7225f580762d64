"""Which images a server has, as far as a client knows, so that each is sent once."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

KNOWN_IMAGES = 100_000
"""Number of images remembered to be at the server."""


class SentImages:
    """Which images the server had when it was last asked; one thread at a time sends an image."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        self._sending: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def add(self, key: str) -> None:
        with self._lock:
            self._known[key] = None
            self._known.move_to_end(key)
            if len(self._known) > KNOWN_IMAGES:
                self._known.popitem(last=False)

    def forget(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._known.pop(key, None)

    @contextmanager
    def alone_with(self, key: str) -> Iterator[bool]:
        """Whether the image is known; where it is not, alone with it, so that it is sent by one."""
        with self._lock:
            is_known = key in self._known
            lock = None if is_known else self._sending.setdefault(key, threading.Lock())
        if lock is None:
            yield True
            return
        with lock:
            with self._lock:
                is_known = key in self._known
            try:
                yield is_known
            finally:
                with self._lock:
                    self._sending.pop(key, None)
