"""Policy gradients: GRPO, Dr. GRPO, RLOO, GSPO and PPO, each the clipped surrogate with advantages of its own."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from saccade.algorithms.advantages import GroupAdvantages, group_relative, leave_one_out
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyLoss
from saccade.algorithms.corrections import is_in_band
from saccade.algorithms.critic import Critic
from saccade.algorithms.losses import Ratio, Surrogate, actor_critic, clip, policy_loss
from saccade.algorithms.options import PolicyOptions
from saccade.errors import UserError
from saccade.types import Group, Trajectory


def policy_gradient(
    name: str,
    advantages: Callable[[Sequence[Group]], GroupAdvantages],
    *,
    aggregation: Aggregation,
    options: PolicyOptions,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    ratio: Ratio = "token",
    surrogate: Surrogate | None = None,
    keep_group: Callable[[Group], bool] | None = None,
    max_refills: int = 0,
    shape_reward: Callable[[Trajectory], float] | None = None,
    critic: Critic | None = None,
) -> Algorithm:
    """An algorithm around the clipped surrogate, or around ``surrogate``, which knows no clip.

    UserError for an invalid clip range or options.
    """
    options.check()
    check_clips(clip_low, clip_high)
    if options.importance == "dppo" and ratio != "token":
        raise UserError(
            f"options.importance=dppo compares the probabilities of tokens; {name} has one ratio for a sequence"
        )
    if surrogate is not None and (options.importance == "dppo" or options.dual_clip):
        wrong = f"options.dual_clip={options.dual_clip}" if options.dual_clip else "options.importance=dppo"
        raise UserError(f"{wrong} changes PPO's clip, which {name} does not have")
    if critic is not None:
        critic.check()

    def loss_with(options: PolicyOptions) -> PolicyLoss:
        own = surrogate or clip(clip_low=clip_low, clip_high=clip_high, ratio=ratio, options=options)
        policy: PolicyLoss = partial(policy_loss, surrogate=own, options=options)
        if critic is None:
            return policy
        return partial(actor_critic, policy=policy, value_clip=critic.value_clip, value_weight=critic.value_weight)

    is_auto, rejects = options.importance == "auto", options.sequence_rejection > 0
    return Algorithm(
        name=name,
        advantages=advantages,
        loss=loss_with(replace(options, importance="none", importance_cap=2.0) if is_auto else options),
        stale_loss=loss_with(replace(options, importance="token")) if is_auto else None,
        aggregation=aggregation,
        needs_reference=options.kl_weight > 0 or options.kl_in_reward > 0,
        needs_old_logprobs=options.needs_weights or rejects,
        corrects_always=options.importance not in ("auto", "none"),
        keep_sequence=partial(is_in_band, bound=options.sequence_rejection) if rejects else None,
        needs_entropy_gradient=options.entropy_weight != 0,
        kl_in_reward=options.kl_in_reward,
        keep_group=keep_group,
        max_refills=max_refills,
        shape_reward=shape_reward,
        masks_truncated=options.masks_truncated,
        perception=options.perception if options.perception.is_used else None,
        critic=critic,
    )


def check_clips(low: float, high: float) -> None:
    """Raises UserError for a clip range that no ratio can mean."""
    if not 0 <= low <= 1:
        raise UserError(f"clip_low={low} must lie between 0 and 1: ratios are clipped at 1 - clip_low")
    if not 0 <= high < math.inf:
        raise UserError(f"clip_high={high} must be a finite number of 0 or more: ratios are clipped at 1 + it")


def grpo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    scale_by_std: bool = True,
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """GRPO: A_i = (r_i - mean) / std inside each group, and the clipped surrogate (section 4.1, equation 3).

    The default mean is over tokens, as verl, EasyR1 and the five papers' code take it; the paper's own is
    ``Aggregation(over="sequences")``. The paper's KL is ``PolicyOptions(kl_weight=0.04)``.
    """
    return policy_gradient(
        "grpo",
        partial(group_relative, scale_by_std=scale_by_std),
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=aggregation,
        options=options,
    )


def dr_grpo(
    *, length: int, clip_low: float = 0.2, clip_high: float = 0.2, options: PolicyOptions = PolicyOptions()
) -> Algorithm:
    """Dr. GRPO: A_i = r_i - mean, and each token counts 1 / ``length`` in every sequence (section 3.2).

    Without the two divisions that GRPO has, by the group's spread and by the sequence's own length, neither easy
    questions nor short right answers and long wrong ones are favoured. ``length`` is constant: usually the most
    action tokens that a trajectory may have.
    """
    return policy_gradient(
        "dr_grpo",
        partial(group_relative, scale_by_std=False),
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=Aggregation(over="constant", length=length),
        options=options,
    )


def gspo(
    *,
    clip_low: float = 3e-4,
    clip_high: float = 4e-4,
    is_token_variant: bool = False,
    scale_by_std: bool = True,
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """GSPO: GRPO with one ratio per sequence, s = exp(mean over its tokens of log ratio) (equations 5 to 7).

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


def rloo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """RLOO: A_i = r_i - mean of the other rewards of the group, never scaled by their spread.

    On-policy the gradient is that of REINFORCE: the mean over tokens gives each token the same weight, so it differs
    from the sum over a sequence's tokens by a constant of the batch. The clip, which the paper does not have, acts
    only once a batch takes several steps. The paper's KL is ``PolicyOptions(kl_in_reward=...)``.
    """
    return policy_gradient(
        "rloo", leave_one_out, clip_low=clip_low, clip_high=clip_high, aggregation=aggregation, options=options
    )


def ppo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    critic: Critic = Critic(),
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """PPO: the clipped surrogate on whitened GAE advantages, and a clipped value loss for the critic (equation 9).

    Groups are never compared, so one trajectory per question is enough. The usual KL is
    ``PolicyOptions(kl_in_reward=...)``, which every token pays where it departs from the reference.
    """
    return policy_gradient(
        "ppo",
        _from_critic,
        clip_low=clip_low,
        clip_high=clip_high,
        aggregation=aggregation,
        critic=critic,
        options=options,
    )


def _from_critic(groups: Sequence[Group]) -> GroupAdvantages:
    raise ValueError("PPO's advantages come from its critic: call Algorithm.critic.targets with the critic's values")
