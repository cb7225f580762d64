"""REINFORCE with a leave-one-out baseline (arXiv 2402.14740; Kool et al. 2019)."""

from saccade.algorithms.advantages import leave_one_out
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.losses import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


def rloo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """A_i = r_i - mean of the other rewards of the group, never scaled by their spread.

    On-policy the gradient is that of REINFORCE: the mean over tokens gives each token the same weight, so it differs
    from the sum over a sequence's tokens by a constant of the batch. The clip, which the paper does not have, acts
    only once a batch takes several steps. The paper's KL is ``PolicyOptions(kl_in_reward=...)``.
    """
    return policy_gradient(
        "rloo", leave_one_out, clip_low=clip_low, clip_high=clip_high, aggregation=aggregation, options=options
    )
