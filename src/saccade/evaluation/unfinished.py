"""Trajectories that did not come to an end of their own, counted beside every figure."""

from collections.abc import Iterable
from dataclasses import dataclass

from saccade.types import Json, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """How many of so many trajectories failed, and how many a limit on tokens cut off."""

    of: int = 0
    failed: int = 0
    """The machine's failures, and prompts that left no room to answer: in no figure."""
    cut_off: int = 0
    """Ended by a limit on tokens before they answered: wrong in every figure."""

    def as_json(self) -> dict[str, Json]:
        return {"failed": self.failed, "cut_off": self.cut_off}

    def describe(self) -> str:
        """``2 of 6 failed and are left out, 1 of 6 cut off by a token limit``; nothing where there are none."""
        failed = f"{self.failed:,} of {self.of:,} failed and {'is' if self.failed == 1 else 'are'} left out"
        cut_off = f"{self.cut_off:,} of {self.of:,} cut off by a token limit"
        return ", ".join([failed] * bool(self.failed) + [cut_off] * bool(self.cut_off))


def unfinished(trajectories: Iterable[Trajectory]) -> Unfinished:
    statuses = [trajectory.status for trajectory in trajectories]
    return Unfinished(of=len(statuses), failed=statuses.count("failed"), cut_off=statuses.count("token_limit"))
