"""Losses of one micro-batch: the sum over action tokens of weight times loss.

The weights are shares in the mean over all micro-batches and ranks, so any split gives the same gradient.
"""

import torch

from saccade.algorithms.contract import Loss, PolicyTokens


def negative_log_likelihood(tokens: PolicyTokens) -> Loss:
    """Supervised loss: minus the mean log-probability."""
    return Loss(value=-(tokens.weights * tokens.logprobs).sum(), sums={"nll": -tokens.logprobs.detach().sum()})


def clipped_surrogate(
    tokens: PolicyTokens, *, clip_low: float = 0.2, clip_high: float = 0.2, kl_weight: float = 0.0
) -> Loss:
    """PPO's clipped surrogate (Schulman et al. 2017, equation 7) with an optional KL penalty.

    The ratio is between the current policy and the one of the batch's beginning. The penalty is the k3 estimate of
    KL(policy || reference): exp(d) - 1 - d with d = reference - policy (DeepSeekMath, eq. 4).
    """
    log_ratio = tokens.logprobs - tokens.old_logprobs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    losses = -torch.minimum(ratio * tokens.advantages, clipped * tokens.advantages)
    mismatch = tokens.logprobs.detach() - tokens.sampled_logprobs
    sums = {
        "policy_loss": losses.detach().sum(),
        "clip_fraction": (clipped * tokens.advantages < ratio * tokens.advantages).sum().to(losses.dtype),
        # k3 estimate of KL(sampler || learner): on-policy it is zero but for rounding, so it watches the two agree.
        "mismatch_kl": (mismatch.exp() - 1.0 - mismatch).sum(),
    }
    if kl_weight and tokens.reference_logprobs is not None:
        gap = tokens.reference_logprobs - tokens.logprobs
        penalty = gap.exp() - 1.0 - gap
        losses = losses + kl_weight * penalty
        sums["reference_kl"] = penalty.detach().sum()
    return Loss(value=(tokens.weights * losses).sum(), sums=sums)
