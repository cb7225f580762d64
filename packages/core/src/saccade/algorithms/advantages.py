"""Advantages: all scored groups of a batch in, one number per turn out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from saccade.types import Group, Term, Trajectory


class PerToken(tuple[float, ...]):
    """Advantages of a trajectory with one number per action token, where plain sequences have one per turn."""

    __slots__ = ()


GroupAdvantages = Sequence[Sequence[Sequence[float]]]
"""Indexed by group, trajectory, turn; or, where a trajectory's numbers are ``PerToken``, by action token."""

ByPlace = Mapping[int, float]
"""Numbers of a group's trajectories, by their places in it; none for those that are not compared."""

Key = TypeVar("Key")

STD_FLOOR = 1e-6
"""Added to a standard deviation before it divides."""


def group_relative(groups: Sequence[Group], *, scale_by_std: bool = True) -> list[list[list[float]]]:
    """GRPO's outcome advantage (DeepSeekMath, section 4.1): (reward - mean) / std inside each group, for every turn.

    The standard deviation is the unbiased one. A group of one and a group of equal rewards have zero advantage. A
    ``failed`` trajectory has none of its own (zeros) and does not enter its group's mean.
    """
    return for_every_turn(groups, [standardised(rewards_of(group), by_std=scale_by_std) for group in groups])


def leave_one_out(groups: Sequence[Group]) -> list[list[list[float]]]:
    """RLOO's advantage (arXiv 2402.14740), for every turn: the reward minus the mean of the siblings'.

    It equals n / (n - 1) times the distance to the mean of all n. A group of one and a group of equal rewards have
    zero advantage; a ``failed`` trajectory has zeros and is no sibling of others.
    """
    return for_every_turn(groups, [_left_out(rewards_of(group)) for group in groups])


def _left_out(rewards: ByPlace) -> ByPlace:
    total, siblings = math.fsum(rewards.values()), len(rewards) - 1
    if len(set(rewards.values())) < 2:
        return {}
    return {place: reward - (total - reward) / siblings for place, reward in rewards.items()}


def rewards_of(group: Group) -> ByPlace:
    """Rewards of the trajectories that are compared: a ``failed`` one is not."""
    return {place: reward_of(one) for place, one in enumerate(group.trajectories) if one.status != "failed"}


def standardised(values: Mapping[Key, float], *, by_std: bool = True) -> Mapping[Key, float]:
    """(value - mean) / std, or the distance to the mean alone; none where all are equal."""
    # Exact equality, not a small spread: rounding noise must never be divided up into large advantages.
    if len(set(values.values())) < 2:
        return {}
    mean = math.fsum(values.values()) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values.values()) / (len(values) - 1)
    scale = 1.0 / (math.sqrt(variance) + STD_FLOOR) if by_std else 1.0
    return {place: (value - mean) * scale for place, value in values.items()}


def for_every_turn(groups: Sequence[Group], values: Sequence[ByPlace]) -> list[list[list[float]]]:
    """For each group's trajectories their value, at each of their turns; zeros where there is none."""
    return [
        [[of_group.get(place, 0.0)] * max(1, len(one.turns)) for place, one in enumerate(group.trajectories)]
        for group, of_group in zip(groups, values, strict=True)
    ]


def is_constant(group: Group) -> bool:
    """Whether the group teaches nothing: all its scored rewards are exactly equal, or fewer than two are scored."""
    return len(set(rewards_of(group).values())) < 2


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
