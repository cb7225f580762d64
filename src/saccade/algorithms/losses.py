"""Losses of one micro-batch: the sum over action tokens of weight times loss.

The weights are shares in the mean over all micro-batches and ranks, so any split gives the same gradient.
"""

import torch

from saccade import metric_names as metric
from saccade.algorithms.algorithm import Loss, PolicyLoss, PolicyTokens
from saccade.algorithms.kl import kl_estimate
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.ratios import Ratio, drift_sums, importance_weights, log_ratio


def negative_log_likelihood(tokens: PolicyTokens) -> Loss:
    """Supervised loss: minus the mean log-probability."""
    return Loss(value=-(tokens.weights * tokens.logprobs).sum(), sums={metric.NLL: -tokens.logprobs.detach().sum()})


def clipped_surrogate(
    tokens: PolicyTokens,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    ratio: Ratio = "token",
    options: PolicyOptions = PolicyOptions(),
) -> Loss:
    """PPO's clipped surrogate -min(r A, clip(r, 1 - low, 1 + high) A) (arXiv 1707.06347, equation 7).

    r is the ratio between the policy and the one of the batch's beginning. With a dual clip c the loss of a token
    with A < 0 is at most -c A (arXiv 1912.09729). The importance correction weighs this part alone; KL
    and entropy bonus are added after it, each a mean with the same weights.
    """
    advantages = tokens.advantages
    ratios = log_ratio(tokens, ratio).exp()
    clipped = ratios.clamp(1.0 - clip_low, 1.0 + clip_high)
    losses = -torch.minimum(ratios * advantages, clipped * advantages)
    sums = {**drift_sums(tokens), metric.CLIP_FRACTION: _count(clipped * advantages < ratios * advantages)}
    if options.dual_clip:
        bound = -options.dual_clip * advantages
        is_bound = (advantages < 0) & (losses > bound)
        losses = torch.where(is_bound, bound, losses)
        sums["dual_clip_fraction"] = _count(is_bound)
    if options.importance != "none":
        correction = importance_weights(tokens, options.importance, options.importance_cap)
        losses = losses * correction
        sums["importance_weight"] = correction.sum()
    sums["policy_loss"] = losses.detach().sum()
    if tokens.reference_logprobs is not None:
        # Reported also where the reward alone pays for it.
        penalty = kl_estimate(tokens.logprobs, tokens.reference_logprobs, options.kl_estimator)
        sums[metric.REFERENCE_KL] = penalty.detach().sum()
        losses = losses + options.kl_weight * penalty if options.kl_weight else losses
    elif options.kl_weight:
        raise ValueError(f"kl_weight={options.kl_weight} needs reference_logprobs; the algorithm must ask for them")
    if options.entropy_weight:
        losses = losses - options.entropy_weight * tokens.entropy
    return Loss(value=(tokens.weights * losses).sum(), sums=sums)


def actor_critic(tokens: PolicyTokens, *, policy: PolicyLoss, value_clip: float, value_weight: float) -> Loss:
    """A policy's loss and ``value_weight`` times the critic's: half of max((V - R)^2, (V' - R)^2).

    V' is V kept within ``value_clip`` of where the value stood when the batch arrived, as PPO's first implementation
    has it (its paper, arXiv 1707.06347, equation 9, has (V - R)^2 alone, which is ``value_clip=inf``).
    """
    if tokens.values is None or tokens.old_values is None or tokens.returns is None:
        raise ValueError("a critic's loss needs values, old_values and returns; the learner must run its value head")
    moved = (tokens.values - tokens.old_values).clamp(-value_clip, value_clip)
    errors = (tokens.values - tokens.returns).square()
    clipped_errors = (tokens.old_values + moved - tokens.returns).square()
    losses = 0.5 * torch.maximum(errors, clipped_errors)
    result = policy(tokens)
    sums = {
        **result.sums,
        "value_loss": losses.detach().sum(),
        "value_clip_fraction": _count(clipped_errors > errors),
        "value": tokens.values.detach().sum(),
        "return": tokens.returns.sum(),
    }
    return Loss(value=result.value + value_weight * (tokens.weights * losses).sum(), sums=sums)


def _count(is_so: torch.Tensor) -> torch.Tensor:
    return is_so.sum().to(torch.float32)
