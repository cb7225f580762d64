"""GMPO: the geometric mean of a sequence's clipped ratios."""

from collections.abc import Mapping
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyTokens
from saccade.algorithms.corrections import lengths_of, sums_of
from saccade.algorithms.losses import count_of, log_ratio
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import check_clips, policy_gradient


def gmpo(*, clip_low: float = 0.4, clip_high: float = 0.4, options: PolicyOptions = PolicyOptions()) -> Algorithm:
    """GMPO (arXiv 2507.20673), the mean over sequences.

    Ratios of tokens are clipped at exp(-``clip_low``) and exp(``clip_high``): wider than PPO's, since an outlier moves
    the geometric mean little.
    """
    check_clips(clip_low, clip_high)
    surrogate = partial(geometric_mean, low=clip_low, high=clip_high)
    return policy_gradient(
        "gmpo", group_relative, surrogate=surrogate, aggregation=Aggregation(over="sequences"), options=options
    )


def geometric_mean(
    tokens: PolicyTokens, *, low: float, high: float
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """-exp(mean over the sequence of min or max(log r, clip(log r, -low, high))) A, min where A > 0."""
    own, lengths = log_ratio(tokens, "token"), lengths_of(tokens.sequence)
    bounded = own.clamp(-low, high)
    kept = torch.where(tokens.advantages > 0, torch.minimum(own, bounded), torch.maximum(own, bounded))
    ratios = (sums_of(kept, lengths) / lengths).exp().repeat_interleave(lengths)
    return -ratios * tokens.advantages, {metric.CLIP_FRACTION: count_of(kept != own)}
