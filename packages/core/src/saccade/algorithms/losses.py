"""Losses of one micro-batch with ratios, options and penalties; the KL to a reference as a loss, or in the reward."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.advantages import with_term
from saccade.algorithms.algorithm import Loss, PolicyLoss, PolicyTokens
from saccade.algorithms.corrections import (
    LOG_RATIO_LIMIT,
    divergence_masked,
    icepop_weights,
    lengths_of,
    log_ratios,
    sums_of,
    truncated_weights,
)
from saccade.algorithms.options import KLEstimator, PolicyOptions
from saccade.algorithms.perception import dependence
from saccade.types import Group

ROUNDING = 1e-5
"""Log-probabilities of one policy may differ so much between two passes in single precision."""


def kl_estimate(
    logprobs: Float[Tensor, "tokens"], reference_logprobs: Float[Tensor, "tokens"], estimator: KLEstimator
) -> Float[Tensor, "tokens"]:
    """Per token an estimate of KL(policy || reference) where the tokens were sampled from the policy.

    With d = log policy - log reference (J. Schulman, Approximating KL Divergence, 2020): k1 = d, k2 = d^2 / 2,
    k3 = exp(-d) - 1 + d. As values k1 and k3 are unbiased. As losses they behave otherwise (Tang and Munos,
    arXiv 2506.09477): the gradient of k1 has an expectation of zero, so it regularises nothing and only adds noise;
    that of k2 is the gradient of KL(policy || reference); that of k3 is the gradient of KL(reference || policy).
    """
    difference = (logprobs - reference_logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    # Two passes over the same weights differ by rounding, and Adam would make whole steps of that.
    difference = difference * (difference.abs() > ROUNDING)
    if estimator == "k1":
        return difference
    if estimator == "k2":
        return 0.5 * difference.square()
    return (-difference).exp() - 1.0 + difference


def kl_token_rewards(
    logprobs: Sequence[float], reference_logprobs: Sequence[float], *, weight: float
) -> tuple[float, ...]:
    """KL penalty in the reward of each token (InstructGPT, arXiv 2203.02155, equation 2): -weight * k1.

    ``logprobs`` are those that the tokens were sampled with. In a reward, unlike in a loss, k1 is the right estimator.
    """
    return tuple(-weight * (own - other) for own, other in zip(logprobs, reference_logprobs, strict=True))


def with_kl_in_reward(groups: Sequence[Group], token_rewards: Sequence[Sequence[Sequence[float]]]) -> list[Group]:
    """The groups with each trajectory's sum of ``token_rewards`` (by group, trajectory, token) added to its score.

    For group-relative advantages, which see one reward per trajectory. It is recorded as the term ``kl``;
    trajectories without a score stay as they are.
    """
    return [
        replace(
            group,
            trajectories=tuple(
                with_term(trajectory, "kl", fsum(rewards))
                for trajectory, rewards in zip(group.trajectories, of_group, strict=True)
            ),
        )
        for group, of_group in zip(groups, token_rewards, strict=True)
    ]


Ratio = Literal["token", "sequence", "sequence_token"]
"""``token``: each token its own (PPO). ``sequence``: the geometric mean over the sequence's tokens (GSPO, equation 7).
``sequence_token``: that value, with the gradient of the single token (GSPO-token, equation 14)."""


def negative_log_likelihood(tokens: PolicyTokens) -> Loss:
    """Supervised loss: minus the mean log-probability."""
    return Loss(value=-(tokens.weights * tokens.logprobs).sum(), sums={metric.NLL: -tokens.logprobs.detach().sum()})


Surrogate = Callable[[PolicyTokens], tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]]
"""The loss of each token, differentiable, without corrections and penalties; and sums about it to report."""


def clipped_surrogate(
    tokens: PolicyTokens,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    ratio: Ratio = "token",
    options: PolicyOptions = PolicyOptions(),
) -> Loss:
    """``policy_loss`` of PPO's clipped surrogate, or of what ``options`` put in its place."""
    surrogate = clip(clip_low=clip_low, clip_high=clip_high, ratio=ratio, options=options)
    return policy_loss(tokens, surrogate=surrogate, options=options)


def clip(*, clip_low: float, clip_high: float, ratio: Ratio, options: PolicyOptions) -> Surrogate:
    """PPO's clip with the dual clip of the options, or DPPO's mask in its place where they say so."""
    if options.importance == "dppo":
        return partial(_masked, limit=options.dppo_limit)
    return partial(_clipped, clip_low=clip_low, clip_high=clip_high, ratio=ratio, dual_clip=options.dual_clip)


def policy_loss(tokens: PolicyTokens, *, surrogate: Surrogate, options: PolicyOptions) -> Loss:
    """A surrogate with the options around it.

    The importance correction weighs the surrogate alone; KL, PAPO's KL to the masked picture (taken away) and entropy
    bonus are added after it, each a mean with the same weights. ``importance="auto"`` corrects nothing here: an
    algorithm has a loss of its own for stale batches.
    """
    losses, found = surrogate(tokens)
    sums = dict(found)
    if options.needs_weights:
        weights, is_cut = importance_weights(tokens, options)
        losses = losses * weights
        sums[metric.IMPORTANCE_WEIGHT] = weights.sum()
        sums[metric.IMPORTANCE_SQUARE] = weights.square().sum()
        sums[metric.IMPORTANCE_CUT] = count_of(is_cut)
    sums |= drift_sums(tokens)
    sums["policy_loss"] = losses.detach().sum()
    if tokens.reference_logprobs is not None:
        # Reported also where the reward alone pays for it.
        penalty = kl_estimate(tokens.logprobs, tokens.reference_logprobs, options.kl_estimator)
        sums[metric.REFERENCE_KL] = penalty.detach().sum()
        losses = losses + options.kl_weight * penalty if options.kl_weight else losses
    elif options.kl_weight:
        raise ValueError(f"kl_weight={options.kl_weight} needs reference_logprobs; the algorithm must ask for them")
    if tokens.masked_logprobs is not None:
        seen = dependence(tokens.logprobs, tokens.masked_logprobs)
        sums[metric.PICTURE_DEPENDENCE] = seen.detach().sum()
        losses = losses - options.perception.masked_kl_weight * seen if options.perception.masked_kl_weight else losses
    elif options.perception.masked_kl_weight:
        raise ValueError("perception.masked_kl_weight needs masked_logprobs; the algorithm must ask for them")
    if options.entropy_weight:
        losses = losses - options.entropy_weight * tokens.entropy
    return Loss(value=(tokens.weights * losses).sum(), sums=sums)


def _masked(tokens: PolicyTokens, *, limit: float) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """DPPO's masked loss (``divergence_masked``)."""
    losses, left_out = divergence_masked(tokens.logprobs, tokens.sampled_logprobs, tokens.advantages, limit=limit)
    return losses, {metric.IMPORTANCE_CUT: count_of(left_out)}


def _clipped(
    tokens: PolicyTokens, *, clip_low: float, clip_high: float, ratio: Ratio, dual_clip: float
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """PPO's -min(r A, clip(r, 1 - low, 1 + high) A) (arXiv 1707.06347, equation 7).

    r is the ratio between the policy and the one of the batch's beginning. With a dual clip c the loss of a token
    with A < 0 is at most -c A (arXiv 1912.09729).
    """
    advantages = tokens.advantages
    ratios = log_ratio(tokens, ratio).exp()
    clipped = ratios.clamp(1.0 - clip_low, 1.0 + clip_high)
    losses = -torch.minimum(ratios * advantages, clipped * advantages)
    sums = {metric.CLIP_FRACTION: count_of(clipped * advantages < ratios * advantages)}
    if dual_clip:
        bound = -dual_clip * advantages
        is_bound = (advantages < 0) & (losses > bound)
        losses = torch.where(is_bound, bound, losses)
        sums["dual_clip_fraction"] = count_of(is_bound)
    return losses, sums


def importance_weights(
    tokens: PolicyTokens, options: PolicyOptions
) -> tuple[Float[Tensor, "tokens"], Bool[Tensor, "tokens"]]:
    """The weights of ``options.importance``, without gradient, and which of them were cut or set to 0."""
    of_token, of_sequence = log_ratios(tokens.old_logprobs, tokens.sampled_logprobs, lengths_of(tokens.sequence))
    if options.importance == "icepop":
        weights = icepop_weights(of_token, low=options.icepop_low, high=options.icepop_high)
        return weights, weights == 0
    chosen = of_sequence if options.importance == "sequence" else of_token
    return truncated_weights(chosen, cap=options.importance_cap), chosen > math.log(options.importance_cap)


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
        "value_clip_fraction": count_of(clipped_errors > errors),
        "value": tokens.values.detach().sum(),
        "return": tokens.returns.sum(),
    }
    return Loss(value=result.value + value_weight * (tokens.weights * losses).sum(), sums=sums)


def count_of(is_so: Bool[Tensor, "tokens"]) -> Float[Tensor, ""]:
    """The number of such tokens, as a sum to report."""
    return is_so.sum().to(torch.float32)


def log_ratio(tokens: PolicyTokens, ratio: Ratio) -> Float[Tensor, "tokens"]:
    """log of policy over old policy, cut to +-20; differentiable."""
    own = tokens.logprobs - tokens.old_logprobs
    if ratio == "token":
        return own.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    lengths = lengths_of(tokens.sequence)
    mean = (sums_of(own, lengths) / lengths).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).repeat_interleave(lengths)
    if ratio == "sequence":
        return mean
    return mean.detach() + tokens.logprobs - tokens.logprobs.detach()


def drift_sums(tokens: PolicyTokens) -> dict[str, Float[Tensor, ""]]:
    """Sums that watch the policies come apart; each is an estimate per token, added up.

    ``mismatch_kl`` is the k3 estimate of KL(sampler || policy) and ``mismatch_abs`` the mean |log p| gap: on-policy
    zero but for rounding. ``policy_kl`` is the k3 estimate of KL(old policy || policy), what inner epochs add.
    """
    mismatch = (tokens.logprobs.detach() - tokens.sampled_logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    moved = log_ratio(tokens, "token").detach()
    return {
        metric.MISMATCH_KL: (mismatch.exp() - 1.0 - mismatch).sum(),
        "mismatch_abs": mismatch.abs().sum(),
        "policy_kl": (moved.exp() - 1.0 - moved).sum(),
    }
