"""Probability ratios between the policies that a token meets: its sampler, the batch's beginning, the one trained.

Every function takes whole sequences and gives tensors of shape (action tokens,).
"""

from typing import Literal

import torch
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.algorithm import PolicyTokens
from saccade.algorithms.kl import LOG_RATIO_LIMIT

Ratio = Literal["token", "sequence", "sequence_token"]
"""``token``: each token its own (PPO). ``sequence``: the geometric mean over the sequence's tokens (GSPO, equation 7).
``sequence_token``: that value, with the gradient of the single token (GSPO-token, equation 14)."""


def log_ratio(tokens: PolicyTokens, ratio: Ratio) -> Tensor:
    """log of policy over old policy, cut to +-20; differentiable."""
    own = tokens.logprobs - tokens.old_logprobs
    if ratio == "token":
        return own.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    lengths = _lengths(tokens)
    mean = (_sums(own, lengths) / lengths).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).repeat_interleave(lengths)
    if ratio == "sequence":
        return mean
    return mean.detach() + tokens.logprobs - tokens.logprobs.detach()


def importance_weights(tokens: PolicyTokens, level: Literal["token", "sequence"], cap: float) -> Tensor:
    """min(p(old policy) / p(sampler), cap), without gradient: the cut ratio of IMPALA (arXiv 1802.01561, equation 1).

    Corrects for a sampler that computes otherwise than the learner does, or that is some steps behind it. A sequence's
    ratio is the product of its tokens'.
    """
    gap = (tokens.old_logprobs - tokens.sampled_logprobs).detach()
    if level == "sequence":
        lengths = _lengths(tokens)
        gap = _sums(gap, lengths).repeat_interleave(lengths)
    return gap.clamp(max=LOG_RATIO_LIMIT).exp().clamp(max=cap)


def drift_sums(tokens: PolicyTokens) -> dict[str, Tensor]:
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


def _lengths(tokens: PolicyTokens) -> Tensor:
    """Action tokens of each sequence that has any, in order; shape (sequences,)."""
    lengths: Tensor = torch.unique_consecutive(tokens.sequence, return_counts=True)[1]
    return lengths


def _sums(values: Tensor, lengths: Tensor) -> Tensor:
    """Sum over each sequence, in an order that does not change from run to run; shape (sequences,)."""
    ends = lengths.cumsum(0).tolist()
    return torch.stack([part.sum() for part in values.tensor_split(ends[:-1])])
