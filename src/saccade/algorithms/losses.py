"""Losses of one micro-batch: sums over action tokens divided by the count of the whole batch.

Every loss divides by the ``total_tokens`` that it is given, the count over all micro-batches and ranks, so any split
gives the same gradient.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A scalar to differentiate, and sums over tokens to report; the reporter divides by the same total."""

    value: Tensor
    sums: Mapping[str, Tensor]


def negative_log_likelihood(logprobs: Tensor, *, total_tokens: int) -> Loss:
    """Supervised loss: minus the mean log-probability. ``logprobs`` has shape (tokens,)."""
    loss = -logprobs.sum()
    return Loss(value=loss / total_tokens, sums={"nll": loss.detach()})


def clipped_surrogate(
    logprobs: Tensor,
    *,
    sampled_logprobs: Tensor,
    advantages: Tensor,
    total_tokens: int,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    reference_logprobs: Tensor | None = None,
    kl_weight: float = 0.0,
) -> Loss:
    """PPO's clipped surrogate (Schulman et al. 2017, equation 7), token mean, with an optional KL penalty.

    All tensors have shape (tokens,). The ratio is between the current policy and the one that sampled. The penalty
    is the k3 estimate of KL(policy || reference): exp(d) - 1 - d with d = reference - policy (DeepSeekMath, eq. 4).
    """
    log_ratio = logprobs - sampled_logprobs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    surrogate = torch.minimum(ratio * advantages, clipped * advantages)
    loss = -surrogate.sum()
    sums = {
        "clip_fraction": (clipped * advantages < ratio * advantages).sum().to(loss.dtype),
        # k3 estimate of KL(sampler || learner): on-policy it is zero but for rounding, so it watches the two agree.
        "mismatch_kl": (ratio - 1.0 - log_ratio).sum().detach(),
    }
    if reference_logprobs is not None:
        gap = reference_logprobs - logprobs
        penalty = (gap.exp() - 1.0 - gap).sum()
        loss = loss + kl_weight * penalty
        sums["reference_kl"] = penalty.detach()
    return Loss(value=loss / total_tokens, sums={"policy_loss": loss.detach(), **sums})
