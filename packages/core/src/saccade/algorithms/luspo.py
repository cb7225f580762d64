"""LUSPO: GSPO without its preference for short sequences."""

from functools import partial

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


def luspo(
    *,
    clip_low: float = 3e-4,
    clip_high: float = 4e-4,
    scale_by_std: bool = True,
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """LUSPO (arXiv 2602.05261): GSPO's loss of each sequence, times the sequence's length.

    The sum over tokens in place of their mean: a loss is as large as sequences are long, which Adam hides and
    ``max_gradient_norm`` does not.
    """
    return policy_gradient(
        "luspo",
        partial(group_relative, scale_by_std=scale_by_std),
        clip_low=clip_low,
        clip_high=clip_high,
        ratio="sequence",
        aggregation=Aggregation(over="constant", length=1),
        options=options,
    )
