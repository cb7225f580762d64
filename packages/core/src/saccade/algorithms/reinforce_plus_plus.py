"""REINFORCE++: advantages that are standardised over the whole batch."""

import math
from collections.abc import Sequence

from saccade.algorithms.advantages import for_every_turn, rewards_of
from saccade.types import Group

_VARIANCE_FLOOR = 1e-8


def over_batch(groups: Sequence[Group], *, has_baseline: bool) -> list[list[list[float]]]:
    """REINFORCE++'s advantage (arXiv 2501.03262), for every turn.

    The reward, or with ``has_baseline`` its distance to the group's mean, standardised over all action tokens of the
    batch. A ``failed`` trajectory has zeros and enters no mean.
    """
    values = [rewards_of(group) for group in groups]
    if has_baseline:
        means = [math.fsum(own.values()) / max(1, len(own)) for own in values]
        values = [{place: one - mean for place, one in own.items()} for own, mean in zip(values, means, strict=True)]
    weighed = [
        (value, sum(group.trajectories[place].action_mask))
        for group, own in zip(groups, values, strict=True)
        for place, value in own.items()
    ]
    if len({value for value, _ in weighed}) < 2:
        return for_every_turn(groups, [{} for _ in groups])
    count = sum(tokens for _, tokens in weighed)
    mean = math.fsum(value * tokens for value, tokens in weighed) / count
    variance = math.fsum((value - mean) ** 2 * tokens for value, tokens in weighed) / count
    scale = 1.0 / math.sqrt(max(variance, _VARIANCE_FLOOR))
    scaled = [{place: (value - mean) * scale for place, value in own.items()} for own in values]
    return for_every_turn(groups, scaled)
