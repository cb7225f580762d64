"""DAPO, with its dynamic sampling, truncation and overlong penalty."""

from collections.abc import Callable
from dataclasses import dataclass

from saccade.algorithms.advantages import group_relative, is_constant
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient
from saccade.errors import UserError
from saccade.types import Group, Trajectory


def teaches(group: Group) -> bool:
    """DAPO's dynamic sampling (arXiv 2503.14476, equation 11): keeps groups whose rewards are not all equal.

    Decided for the group as a whole by exact equality. Where the paper has one right and one wrong answer at least,
    this has two different rewards, which is the same for rewards of 0 and 1.
    """
    return not is_constant(group)


def is_truncated(trajectory: Trajectory) -> bool:
    """Whether a limit of turns or tokens ended it: its reward says little about the tokens that it has."""
    return trajectory.status in ("token_limit", "turn_limit")


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftOverlong:
    """The soft overlong penalty (equation 13): 0 up to a soft limit, from there falling to -1 at the hard one."""

    max_tokens: int
    """Action tokens at which the penalty is -1."""
    cache_tokens: int
    """Tokens before that over which it grows: the paper has 4,096 before 20,480."""

    def __post_init__(self) -> None:
        if not 0 < self.cache_tokens <= self.max_tokens:
            raise UserError(
                f"cache_tokens={self.cache_tokens} must lie between 1 and max_tokens={self.max_tokens}: the penalty "
                "grows over the last cache_tokens before max_tokens"
            )

    def __call__(self, trajectory: Trajectory) -> float:
        count = sum(len(segment.ids) for segment in trajectory.segments if segment.role == "action")
        excess = count - (self.max_tokens - self.cache_tokens)
        return -min(1.0, max(0, excess) / self.cache_tokens) if excess > 0 else 0.0


def dapo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    keep_group: Callable[[Group], bool] | None = teaches,
    max_refills: int = 9,
    overlong: SoftOverlong | None = None,
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """DAPO: GRPO with a wider clip upwards, uninformative groups replaced, and the mean over tokens (equation 8).

    Dynamic sampling asks up to ``max_refills`` further rounds of questions for the groups that ``keep_group`` leaves
    out; with the first round they are the ten that verl's recipe allows. The paper has no bound.
    """
    return policy_gradient(
        "dapo",
        group_relative,
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=Aggregation(over="tokens"),
        keep_group=keep_group,
        max_refills=max_refills if keep_group is not None else 0,
        shape_reward=overlong,
        options=options,
    )
