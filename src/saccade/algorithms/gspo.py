"""Group Sequence Policy Optimization (arXiv 2507.18071)."""

from functools import partial

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.losses import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


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
