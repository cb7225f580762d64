"""How fast a server is asked, and how long one waits before asking it again."""

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from saccade.seeding import generator_for

LONGEST_WAIT_S = 120.0
"""Also where a server asks for more: it is then asked again a bit early, at the price of one retry."""


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


def back_off_s(attempt: int, *, first_wait_s: float, seed: int) -> float:
    """Doubles with each attempt, counted from 0, and scatters by up to a half, so that many do not come at once."""
    scatter = float(generator_for(seed, "back-off", attempt).uniform(1.0, 1.5))
    return min(LONGEST_WAIT_S, first_wait_s * 2.0**attempt * scatter)


def asked_wait_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """What ``Retry-After`` asks for, in seconds or as a date; None without one that can be read."""
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
