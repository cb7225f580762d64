"""Retries of a server that failed: when it is asked again, how fast at all, and when the breaker is open.

The same of every server: models that answer in chat, tool services. The waits are here and the breaker; the loop around
a try belongs to each client, for some count their tries and others have a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from saccade.errors import MachineError
from saccade.seeding import generator_for

LONGEST_WAIT_S = 120.0
"""Also where a server asks for more: it is then asked again a bit early, at the price of one retry."""

FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0

logger = logging.getLogger(__name__)


class TryAgainError(Exception):
    """A failure, and how long the server asks to be left alone."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class RetryPace:
    """Lets requests start evenly over time; shared by all threads and event loops of a client."""

    def __init__(self, requests_per_minute: float | None) -> None:
        self._spacing_s = 0.0 if requests_per_minute is None else 60.0 / requests_per_minute
        self._next_start_s = 0.0
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Seconds to wait before the next request may start; the place is taken by asking."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next_start_s)
            self._next_start_s = start + self._spacing_s
            return start - now


def back_off_s(attempt: int, *, first_wait_s: float, seed: int, longest_wait_s: float = LONGEST_WAIT_S) -> float:
    """Doubles with each attempt, counted from 0, and scatters by up to a half, so that many do not come at once."""
    scatter = float(generator_for(seed, "back-off", attempt).uniform(1.0, 1.5))
    # Where time alone ends the tries there may be thousands, and a power of that size is no number.
    return min(longest_wait_s, first_wait_s * 2.0 ** min(attempt, 64) * scatter)


def asked_wait_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Wait that ``Retry-After`` asks for, in seconds or as a date; None without one that can be read."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        wait_s = float(text)
    except ValueError:
        try:
            wait_s = (parsedate_to_datetime(text) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return None
    # A comparison with NaN is false, and then the wait is none that can be read.
    return min(LONGEST_WAIT_S, max(0.0, wait_s)) if wait_s == wait_s else None


@dataclass(frozen=True, slots=True)
class Pass:
    """Permit of a call through the breaker; it is given back with how the call ended."""

    is_trial: bool


class CircuitBreaker:
    """A server that keeps failing is left alone, but for single trials; shared by all threads that use it.

    It opens after ``failures`` calls in a row that failed for good, each after all of its tries. Rests between trials
    double, from ``first_rest_s`` on; without a rest the next trial goes out as soon as the last one has failed.
    """

    def __init__(
        self,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        failures: int = 3,
        first_rest_s: float = FIRST_REST_S,
    ) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._limit = failures
        self._failures = 0
        self._first_rest_s = self._rest_s = first_rest_s
        self._rests_until_s = 0.0
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._failures >= self._limit

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
            if self.is_open:
                logger.info("%s answers again", self._name)
            self._is_trying &= not passed.is_trial
            self._failures = 0
            self._rest_s = self._first_rest_s

    def failed(self, passed: Pass) -> None:
        """The server could not be had."""
        with self._lock:
            self._is_trying &= not passed.is_trial
            self._failures += 1
            if not self.is_open:
                return
            if self._failures == self._limit:
                logger.warning(
                    "%s has failed %d times in a row; from now on one call at a time is tried until it answers",
                    self._name,
                    self._failures,
                )
            # Of calls that were out together only the first makes the rest longer.
            if passed.is_trial:
                self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)
            self._rests_until_s = self._clock() + self._rest_s

    def given_up(self, passed: Pass) -> None:
        """The call ended before it was known whether the server can be had: its caller no longer waits."""
        with self._lock:
            self._is_trying &= not passed.is_trial
