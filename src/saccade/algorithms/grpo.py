"""Group Relative Policy Optimization (DeepSeekMath, arXiv 2402.03300)."""

from functools import partial

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.contract import Algorithm
from saccade.algorithms.losses import clipped_surrogate


def grpo(
    *, clip_low: float = 0.2, clip_high: float = 0.2, kl_weight: float = 0.0, scale_by_std: bool = True
) -> Algorithm:
    """Group-relative advantages and the clipped surrogate; ``kl_weight`` above 0 ties it to the stage's start."""
    return Algorithm(
        name="grpo",
        advantages=partial(group_relative, scale_by_std=scale_by_std),
        loss=partial(clipped_surrogate, clip_low=clip_low, clip_high=clip_high, kl_weight=kl_weight),
        needs_reference=kl_weight > 0,
    )
