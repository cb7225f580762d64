"""CISPO: the ratio is clipped as a weight, so that every token keeps its gradient."""

from collections.abc import Mapping
from functools import partial

from jaxtyping import Float
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyTokens
from saccade.algorithms.losses import count_of, log_ratio
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import check_clips, policy_gradient


def cispo(*, clip_low: float = 1.0, clip_high: float = 4.0, options: PolicyOptions = PolicyOptions()) -> Algorithm:
    """CISPO (MiniMax-M1, arXiv 2506.13585, equation 4), the mean over tokens.

    A weight is 1 + ``clip_high`` at most: 5 is ScaleRL's (arXiv 2510.13786). ``clip_low=1`` sets no lower bound, as
    both papers have it.
    """
    check_clips(clip_low, clip_high)
    surrogate = partial(clipped_weights, low=1.0 - clip_low, high=1.0 + clip_high)
    return policy_gradient(
        "cispo", group_relative, surrogate=surrogate, aggregation=Aggregation(over="tokens"), options=options
    )


def clipped_weights(
    tokens: PolicyTokens, *, low: float, high: float
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """-clip(r, low, high) A log p, where r has no gradient."""
    ratios = log_ratio(tokens, "token").detach().exp()
    weights = ratios.clamp(low, high)
    return -weights * tokens.advantages * tokens.logprobs, {metric.CLIP_FRACTION: count_of(weights != ratios)}
