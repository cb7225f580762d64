"""How far a policy has moved from its reference, estimated from the log-probabilities of sampled tokens."""

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import Literal

from torch import Tensor

from saccade.algorithms.advantages import with_term
from saccade.types import Group

KLEstimator = Literal["k1", "k2", "k3"]

LOG_RATIO_LIMIT = 20.0
"""Log ratios are cut here before they are exponentiated: exp(20) is 5e8, still finite in every precision used."""


def kl_estimate(logprobs: Tensor, reference_logprobs: Tensor, estimator: KLEstimator) -> Tensor:
    """Per token an estimate of KL(policy || reference) where the tokens were sampled from the policy.

    With d = log policy - log reference (J. Schulman, Approximating KL Divergence, 2020): k1 = d, k2 = d^2 / 2,
    k3 = exp(-d) - 1 + d. As values k1 and k3 are unbiased. As losses they behave otherwise (Tang and Munos,
    arXiv 2506.09477): the gradient of k1 has an expectation of zero, so it regularises nothing and only adds noise;
    that of k2 is the gradient of KL(policy || reference); that of k3 is the gradient of KL(reference || policy).
    """
    difference = (logprobs - reference_logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    if estimator == "k1":
        return difference
    if estimator == "k2":
        return 0.5 * difference.square()
    return (-difference).exp() - 1.0 + difference


def kl_token_rewards(
    logprobs: Sequence[float], reference_logprobs: Sequence[float], *, weight: float
) -> tuple[float, ...]:
    """What the KL takes from the reward of each token (InstructGPT, arXiv 2203.02155, equation 2): -weight * k1.

    ``logprobs`` are those that the tokens were sampled with. In a reward, unlike in a loss, k1 is the right estimator.
    """
    return tuple(-weight * (own - other) for own, other in zip(logprobs, reference_logprobs, strict=True))


def with_kl_in_reward(groups: Sequence[Group], token_rewards: Sequence[Sequence[Sequence[float]]]) -> list[Group]:
    """The groups with each trajectory's sum of ``token_rewards`` (by group, trajectory, token) added to its score.

    For group-relative advantages, which see one reward per trajectory. It is recorded as the term ``kl``;
    trajectories without a score stay as they are.
    """
    return [
        replace(
            group,
            trajectories=tuple(
                with_term(trajectory, "kl", fsum(rewards))
                for trajectory, rewards in zip(group.trajectories, of_group, strict=True)
            ),
        )
        for group, of_group in zip(groups, token_rewards, strict=True)
    ]
