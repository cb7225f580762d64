"""Seconds that the back ends of a verifier took."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Request = TypeVar("Request")
Response = TypeVar("Response")


class ScorerClock:
    """Seconds that back ends took since they were last read, over all threads; those of a judge that waits add up."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._lock = threading.Lock()

    def timed(
        self, name: str, find: Callable[[Sequence[Request]], Sequence[Response]]
    ) -> Callable[[Sequence[Request]], Sequence[Response]]:
        """The same function, whose time is added."""

        def found(requests: Sequence[Request]) -> Sequence[Response]:
            start = time.perf_counter()
            try:
                return find(requests)
            finally:
                self.add(name, time.perf_counter() - start)

        return found

    def add(self, name: str, seconds: float) -> None:
        with self._lock:
            self._spent[name] = self._spent.get(name, 0.0) + seconds

    def take_seconds(self) -> dict[str, float]:
        """The seconds by ``<name>_s``; they begin anew."""
        with self._lock:
            spent, self._spent = self._spent, {}
        return {f"{name}_s": seconds for name, seconds in spent.items()}
