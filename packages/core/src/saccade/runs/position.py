"""Position of a run in its plan, and its pace."""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """The state after ``step`` steps of ``stage``; step 0 is before the stage's first step."""

    stage: str
    step: int

    def is_after(self, other: "Position", stages: Sequence[str]) -> bool:
        """Later than the other position in a plan whose stages are named in this order.

        Raises UserError for a stage that the plan does not have.
        """
        return self.place_in(stages) > other.place_in(stages)

    def place_in(self, stages: Sequence[str]) -> tuple[int, int]:
        """Numbers by which positions of a plan are sorted. Raises UserError for a stage that it does not have."""
        if self.stage not in stages:
            raise UserError(
                f"the run on disk has a stage {self.stage!r} that the plan does not have ({', '.join(stages)}); "
                "resume with the recipe that it was started with, or choose another --out"
            )
        return stages.index(self.stage), self.step


_WINDOW_STEPS = 50
"""Steps that the speed is taken over: recent ones, since a policy's turns grow longer while it learns."""


class StepPace:
    """Counts the steps and tokens of one stage against a clock in seconds.

    ``at_once`` steps may be worked on side by side: the first to end has taken as long as many that end right after
    it, so that nothing is said of the time left before so many, or a quarter of all, are done.
    """

    def __init__(
        self, *, total: int, done: int = 0, at_once: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = total
        self.done = done
        self._before = done
        self._measured_from = min(at_once, -(-total // 4))
        self._clock = clock
        self._marks: deque[tuple[float, int, int]] = deque(
            [(clock(), done, 0)], maxlen=max(_WINDOW_STEPS, 2 * at_once) + 1
        )

    def advance(self, steps: int, tokens: int) -> None:
        """These steps are done and cost these tokens."""
        self.done += steps
        self._marks.append((self._clock(), self.done, self._marks[-1][2] + tokens))

    @property
    def tokens_per_s(self) -> float | None:
        """None before there is anything to go by."""
        seconds, _, tokens = self._recent()
        return tokens / seconds if tokens and seconds > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the last step at the recent speed; None before there is a measure of it."""
        seconds, steps, _ = self._recent()
        if not steps or self.done - self._before < self._measured_from:
            return None
        return seconds / steps * max(0, self.total - self.done)

    def describe(self) -> str:
        """``1,234 tokens/s, 2 min 05 s left``, as far as it is known."""
        speed, left = self.tokens_per_s, self.left_s if self.done < self.total else None
        parts = [] if speed is None else [f"{speed:,.0f} tokens/s"]
        return ", ".join(parts if left is None else [*parts, f"{duration(left)} left"])

    def _recent(self) -> tuple[float, int, int]:
        (start_s, start_steps, start_tokens), (end_s, steps, tokens) = self._marks[0], self._marks[-1]
        return end_s - start_s, steps - start_steps, tokens - start_tokens


def duration(seconds: float) -> str:
    """``45 s``, ``2 min 05 s``, ``3 h 07 min``; ``–`` where the number is none."""
    if not math.isfinite(seconds):
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
