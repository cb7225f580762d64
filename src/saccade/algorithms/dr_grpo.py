"""Dr. GRPO: GRPO done right (arXiv 2503.20783)."""

from functools import partial

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.losses import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


def dr_grpo(
    *,
    length: int,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """A_i = r_i - mean, and every token counts 1 / ``length`` whatever sequence it is in (section 3.2).

    Without the two divisions that GRPO has, by the group's spread and by the sequence's own length, neither easy
    questions nor short right answers and long wrong ones are favoured. ``length`` is constant: usually the most
    action tokens that a trajectory may have.
    """
    return policy_gradient(
        "dr_grpo",
        partial(group_relative, scale_by_std=False),
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=Aggregation(over="constant", length=length),
        options=options,
    )
