"""Critic-free algorithms: GRPO, Dr. GRPO, RLOO and GSPO, each the policy gradient with its own advantages and clips."""

from functools import partial

from saccade.algorithms.advantages import group_relative, leave_one_out
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


def gspo(
    *,
    clip_low: float = 3e-4,
    clip_high: float = 4e-4,
    is_token_variant: bool = False,
    scale_by_std: bool = True,
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """GRPO with one ratio per sequence, s = exp(mean over its tokens of log ratio) (equations 5 to 7).

    The ratio of a sequence moves far less than that of a token, hence the narrow clip range (section 5.1). The token
    variant (equations 13 and 14) has the same values and lets tokens of one sequence have advantages of their own:
    the one to take with turn-level credit.
    """
    return policy_gradient(
        "gspo",
        partial(group_relative, scale_by_std=scale_by_std),
        clip_low=clip_low,
        clip_high=clip_high,
        ratio="sequence_token" if is_token_variant else "sequence",
        aggregation=Aggregation(over="sequences"),
        options=options,
    )


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
