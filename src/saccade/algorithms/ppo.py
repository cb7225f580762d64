"""Proximal Policy Optimization with a critic (arXiv 1707.06347)."""

from collections.abc import Sequence

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.critic import Critic
from saccade.algorithms.losses import PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient
from saccade.types import Group


def ppo(
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    critic: Critic = Critic(),
    aggregation: Aggregation = Aggregation(),
    options: PolicyOptions = PolicyOptions(),
) -> Algorithm:
    """The clipped surrogate on whitened GAE advantages, and a clipped value loss for the critic (equation 9).

    Groups are never compared, so one trajectory per question will do. The usual KL is
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
