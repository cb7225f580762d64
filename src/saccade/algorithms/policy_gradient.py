"""Puts an algorithm together from advantages, a clip range and the options that all algorithms share."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyLoss
from saccade.algorithms.critic import Critic
from saccade.algorithms.losses import PolicyOptions, Ratio, actor_critic, clipped_surrogate
from saccade.errors import UserError
from saccade.types import Group, Trajectory


def policy_gradient(
    name: str,
    advantages: Callable[[Sequence[Group]], GroupAdvantages],
    *,
    clip_low: float,
    clip_high: float,
    aggregation: Aggregation,
    options: PolicyOptions,
    ratio: Ratio = "token",
    keep_group: Callable[[Group], bool] | None = None,
    max_refills: int = 0,
    shape_reward: Callable[[Trajectory], float] | None = None,
    critic: Critic | None = None,
) -> Algorithm:
    """An algorithm around the clipped surrogate. UserError for a clip range or options that no run can mean."""
    options.check()
    if not 0 <= clip_low <= 1:
        raise UserError(f"clip_low={clip_low} must lie between 0 and 1: ratios are clipped at 1 - clip_low")
    if not 0 <= clip_high < math.inf:
        raise UserError(f"clip_high={clip_high} must be a finite number of 0 or more: ratios are clipped at 1 + it")
    loss: PolicyLoss = partial(clipped_surrogate, clip_low=clip_low, clip_high=clip_high, ratio=ratio, options=options)
    if critic is not None:
        critic.check()
        loss = partial(actor_critic, policy=loss, value_clip=critic.value_clip, value_weight=critic.value_weight)
    return Algorithm(
        name=name,
        advantages=advantages,
        loss=loss,
        aggregation=aggregation,
        needs_reference=options.kl_weight > 0 or options.kl_in_reward > 0,
        needs_old_logprobs=options.importance != "none",
        needs_entropy_gradient=options.entropy_weight != 0,
        kl_in_reward=options.kl_in_reward,
        keep_group=keep_group,
        max_refills=max_refills,
        shape_reward=shape_reward,
        masks_truncated=options.masks_truncated,
        critic=critic,
    )
