"""A circuit breaker: a server that keeps failing is left alone, but for single trials."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from saccade.errors import MachineError

FAILURES = 3
"""Calls in a row that failed for good, each after all of its tries."""

FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0


@dataclass(frozen=True, slots=True)
class Pass:
    """What lets a call through; it is given back with how the call ended."""

    is_trial: bool


class CircuitBreaker:
    """Shared by all threads that use one server."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._rest_s = FIRST_REST_S
        self._rests_until_s = 0.0
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._failures >= FAILURES

    def enter(self) -> Pass:
        """Ask to make a call; ``MachineError`` at once while the server is left alone."""
        with self._lock:
            if not self.is_open:
                return Pass(is_trial=False)
            if self._is_trying or self._clock() < self._rests_until_s:
                raise MachineError(f"{self._name} has failed {self._failures} calls in a row and is left alone")
            self._is_trying = True
            return Pass(is_trial=True)

    def succeeded(self, passed: Pass) -> None:
        """The server has answered, be it with an error that is about the call."""
        with self._lock:
            self._is_trying &= not passed.is_trial
            self._failures = 0
            self._rest_s = FIRST_REST_S

    def failed(self, passed: Pass) -> None:
        """The server could not be had."""
        with self._lock:
            self._is_trying &= not passed.is_trial
            self._failures += 1
            if not self.is_open:
                return
            # Of calls that were out together only the first makes the rest longer.
            if passed.is_trial:
                self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)
            self._rests_until_s = self._clock() + self._rest_s
