"""Which groups and trajectories an algorithm learns from."""

from dataclasses import dataclass
from math import fsum

from saccade.algorithms.advantages import is_constant, reward_of
from saccade.errors import UserError
from saccade.types import Group, Trajectory


def teaches(group: Group) -> bool:
    """DAPO's dynamic sampling (arXiv 2503.14476, equation 11): keeps groups whose rewards are not all equal.

    Decided for the group as a whole by exact equality. Where the paper has one right and one wrong answer at least,
    this has two different rewards, which is the same for rewards of 0 and 1.
    """
    return not is_constant(group)


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanWithin:
    """Keeps groups whose mean reward lies strictly between two bounds, as Lang2Act's code does with 0.1 and 0.9."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UserError(f"low={self.low} and high={self.high} keep no group; low must be below high")

    def __call__(self, group: Group) -> bool:
        rewards = [reward_of(trajectory) for trajectory in group.trajectories if trajectory.status != "failed"]
        return bool(rewards) and self.low < fsum(rewards) / len(rewards) < self.high


def is_truncated(trajectory: Trajectory) -> bool:
    """Whether a limit of turns or tokens ended it: its reward says little about the tokens that it has."""
    return trajectory.status in ("token_limit", "turn_limit")
