"""Group Relative Policy Optimization (DeepSeekMath, arXiv 2402.03300)."""

from functools import partial

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.losses import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


def grpo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    scale_by_std: bool = True,
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """A_i = (r_i - mean) / std inside each group, and the clipped surrogate (section 4.1, equation 3).

    The default mean is over tokens, as verl, EasyR1 and the five papers' code take it; the paper's own is
    ``Aggregation(over="sequences")``. The paper's KL is ``PolicyOptions(kl_weight=0.04)``.
    """
    return policy_gradient(
        "grpo",
        partial(group_relative, scale_by_std=scale_by_std),
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=aggregation,
        options=options,
    )
