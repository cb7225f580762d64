"""MaxRL: rare successes count for more."""

import math
from collections.abc import Sequence

from saccade.algorithms.advantages import ByPlace, for_every_turn, rewards_of
from saccade.errors import UserError
from saccade.types import Group


def by_mean(groups: Sequence[Group]) -> list[list[list[float]]]:
    """MaxRL's advantage (arXiv 2602.02710): (reward - mean) / mean inside each group, for every turn.

    With rewards of 0 and 1 its gradient is that of the log of the success rate, up to an order that grows with the
    group. A group without a success has zeros, as a ``failed`` trajectory has. UserError for a reward below 0, whose
    rate means nothing.
    """
    return for_every_turn(groups, [_of_group(group) for group in groups])


def _of_group(group: Group) -> ByPlace:
    rewards = rewards_of(group)
    if rewards and min(rewards.values()) < 0:
        raise UserError(
            f"advantages=maxrl divides by the mean reward, but {group.task.id} has one of {min(rewards.values()):g}; "
            "take a reward of 0 or more, or advantages=default"
        )
    if len(set(rewards.values())) < 2:
        return {}
    mean = math.fsum(rewards.values()) / len(rewards)
    return {place: (reward - mean) / mean for place, reward in rewards.items()}
