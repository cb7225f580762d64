"""Corrections for tokens that were sampled by another policy than the one that learns from them.

The sampler is another policy because it computes otherwise than the learner does (mismatch), or because it has weights
of some steps ago (staleness). Three policies meet: the sampler mu, the learner when the batch arrived ("old"), and the
learner now. Weights and rejection compare old with mu; what a batch's own updates add is the clip's to bound. DPPO's
mask compares now with mu and takes the place of the clip.

A log-probability that is not a number makes a weight or a mask that is none either: the step is then skipped and
written down, where a comparison would have hidden it.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LOG_RATIO_LIMIT = 20.0
"""Log ratios are cut here before they are exponentiated: exp(20) is 5e8, still finite in every precision used."""

DPPO_RATIO_CAP = 20.0
"""Largest ratio that weighs a token under DPPO's mask, as in verl; the paper has no bound."""


def log_ratios(
    old_logprobs: Float[Tensor, "tokens"], sampled_logprobs: Float[Tensor, "tokens"], lengths: Int[Tensor, "sequences"]
) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"]]:
    """log(old / mu) of each token, and of its whole sequence (the sum over its tokens), without gradient."""
    own = (old_logprobs - sampled_logprobs).detach()
    return own, sums_of(own, lengths).repeat_interleave(lengths)


def truncated_weights(log_ratio: Float[Tensor, "tokens"], *, cap: float) -> Float[Tensor, "tokens"]:
    """min(old / mu, cap): truncated importance sampling (IMPALA, arXiv 1802.01561, equation 1; with a learner and an
    engine of one language model Yao et al., Your Efficient RL Framework Secretly Brings You Off-Policy RL, 2025)."""
    return log_ratio.clamp(max=LOG_RATIO_LIMIT).exp().clamp(max=cap)


def icepop_weights(log_ratio: Float[Tensor, "tokens"], *, low: float, high: float) -> Float[Tensor, "tokens"]:
    """old / mu inside of [low, high] and 0 outside (IcePop, arXiv 2510.18855, section 3: alpha = 0.5, beta = 5).

    A token that is left out stays in the number that the mean divides by, as in the paper.
    """
    ratio = log_ratio.clamp(max=LOG_RATIO_LIMIT).exp()
    return ratio.masked_fill(ratio < low, 0.0).masked_fill(ratio > high, 0.0)


def is_in_band(old_logprobs: Sequence[float], sampled_logprobs: Sequence[float], *, bound: float) -> bool:
    """Whether 1 / bound <= (product over the tokens of old / mu)^(1 / tokens) <= bound.

    Rejection by the geometric mean of a sequence's ratios (Liu et al., When Speed Kills Stability, 2025, part 3; verl's
    geometric rejection). Unlike the product, it does not reject long sequences for their length.
    """
    gaps = [old - sampled for old, sampled in zip(old_logprobs, sampled_logprobs, strict=True)]
    # What is no number is for the loss to stumble over: rejected, it would look like a sequence of another policy.
    return not gaps or not abs(sum(gaps) / len(gaps)) > math.log(bound)


def leaves_trust_region(
    logprobs: Float[Tensor, "tokens"],
    sampled_logprobs: Float[Tensor, "tokens"],
    advantages: Float[Tensor, "tokens"],
    *,
    limit: float,
) -> Bool[Tensor, "tokens"]:
    """Tokens that DPPO's mask leaves out: those whose probability moved over ``limit`` where the loss would push it on.

    DPPO with the binary total variation (arXiv 2602.04879): |p - mu| of the sampled token, p > mu where the advantage
    is positive, p < mu where it is not. Neither ratio nor mask depends on how rare the token is.
    """
    moved = logprobs.detach().exp() - sampled_logprobs.exp()
    return torch.where(advantages > 0, moved > limit, moved < -limit)


def divergence_masked(
    logprobs: Float[Tensor, "tokens"],
    sampled_logprobs: Float[Tensor, "tokens"],
    advantages: Float[Tensor, "tokens"],
    *,
    limit: float,
) -> tuple[Float[Tensor, "tokens"], Bool[Tensor, "tokens"]]:
    """DPPO's loss -M (p / mu) A of each token, the ratio cut at ``DPPO_RATIO_CAP``, and the tokens that M leaves out.

    The gradient is that of -M min(p / mu, cap) A log p: a token over the cap still learns.
    """
    left_out = leaves_trust_region(logprobs, sampled_logprobs, advantages, limit=limit)
    gap = (logprobs.detach() - sampled_logprobs).clamp(max=LOG_RATIO_LIMIT)
    weights = gap.exp().clamp(max=DPPO_RATIO_CAP)
    # One in value, with the gradient of log p.
    unit = (logprobs - logprobs.detach()).exp()
    return -(weights * advantages * unit).masked_fill(left_out, 0.0), left_out


def lengths_of(sequence: Int[Tensor, "tokens"]) -> Int[Tensor, "sequences"]:
    """Action tokens of each sequence that has any, in order."""
    lengths: Int[Tensor, sequences] = torch.unique_consecutive(sequence, return_counts=True)[1]
    return lengths


def sums_of(values: Float[Tensor, "tokens"], lengths: Int[Tensor, "sequences"]) -> Float[Tensor, "sequences"]:
    """Sum over each sequence, in an order that does not change from run to run."""
    ends = lengths.cumsum(0).tolist()
    return torch.stack([part.sum() for part in values.tensor_split(ends[:-1])])
