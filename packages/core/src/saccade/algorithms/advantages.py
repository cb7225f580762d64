"""Advantages: all scored groups of a batch in, one number per turn out."""

import math
from collections.abc import Sequence
from dataclasses import replace

from saccade.types import Group, Term, Trajectory


class PerToken(tuple[float, ...]):
    """Advantages of a trajectory with one number per action token, where plain sequences have one per turn."""

    __slots__ = ()


GroupAdvantages = Sequence[Sequence[Sequence[float]]]
"""Indexed by group, trajectory, turn; or, where a trajectory's numbers are ``PerToken``, by action token."""

_STD_FLOOR = 1e-6


def group_relative(groups: Sequence[Group], *, scale_by_std: bool = True) -> list[list[list[float]]]:
    """GRPO's outcome advantage (DeepSeekMath, section 4.1): (reward - mean) / std inside each group, for every turn.

    The standard deviation is the unbiased one. A group of one and a group of equal rewards have zero advantage. A
    ``failed`` trajectory has none of its own (zeros) and does not enter its group's mean.
    """
    return [_of_group(group, scale_by_std) for group in groups]


def _of_group(group: Group, scale_by_std: bool) -> list[list[float]]:
    rewards = [reward_of(trajectory) for trajectory in group.trajectories if trajectory.status != "failed"]
    mean = math.fsum(rewards) / len(rewards) if rewards else 0.0
    # Exact equality, not a small spread: rounding noise must never be divided up into large advantages.
    is_constant = all(reward == rewards[0] for reward in rewards)
    scale = 0.0 if is_constant else 1.0
    if scale_by_std and not is_constant:
        variance = math.fsum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1)
        scale = 1.0 / (math.sqrt(variance) + _STD_FLOOR)
    return [
        [0.0 if trajectory.status == "failed" else (reward_of(trajectory) - mean) * scale]
        * max(1, len(trajectory.turns))
        for trajectory in group.trajectories
    ]


def leave_one_out(groups: Sequence[Group]) -> list[list[list[float]]]:
    """RLOO's advantage (arXiv 2402.14740), for every turn: the reward minus the mean of the siblings'.

    It equals n / (n - 1) times the distance to the mean of all n. A group of one and a group of equal rewards have
    zero advantage; a ``failed`` trajectory has zeros and is no sibling of others.
    """
    return [_left_out(group) for group in groups]


def _left_out(group: Group) -> list[list[float]]:
    rewards = [reward_of(trajectory) for trajectory in group.trajectories if trajectory.status != "failed"]
    total, siblings = math.fsum(rewards), len(rewards) - 1
    teaches = len(set(rewards)) > 1

    def advantage(trajectory: Trajectory) -> float:
        if trajectory.status == "failed" or not teaches:
            return 0.0
        reward = reward_of(trajectory)
        return reward - (total - reward) / siblings

    return [[advantage(trajectory)] * max(1, len(trajectory.turns)) for trajectory in group.trajectories]


def is_constant(group: Group) -> bool:
    """Whether the group teaches nothing: all its scored rewards are exactly equal, or fewer than two are scored."""
    rewards = [reward_of(trajectory) for trajectory in group.trajectories if trajectory.status != "failed"]
    return len(set(rewards)) < 2


def reward_of(trajectory: Trajectory) -> float:
    """The score's total; ValueError for a trajectory that was not scored."""
    if trajectory.score is None:
        raise ValueError(
            f"trajectory {trajectory.task_id}#{trajectory.sample} has no score; score it before advantages"
        )
    return trajectory.score.total


def with_term(trajectory: Trajectory, name: str, value: float) -> Trajectory:
    """With a term that the algorithm adds to the score; without a score it stays as it is."""
    score = trajectory.score
    if score is None:
        return trajectory
    return replace(trajectory, score=replace(score, terms=(*score.terms, Term(name, value, added_by="the algorithm"))))
