"""Losses of one micro-batch with ratios, options and penalties; the KL to a reference as a loss, or in the reward."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.advantages import with_term
from saccade.algorithms.algorithm import Loss, PolicyLoss, PolicyTokens
from saccade.errors import UserError
from saccade.types import Group

KLEstimator = Literal["k1", "k2", "k3"]

LOG_RATIO_LIMIT = 20.0
"""Log ratios are cut here before they are exponentiated: exp(20) is 5e8, still finite in every precision used."""


def kl_estimate(
    logprobs: Float[Tensor, "tokens"], reference_logprobs: Float[Tensor, "tokens"], estimator: KLEstimator
) -> Float[Tensor, "tokens"]:
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
    """KL penalty in the reward of each token (InstructGPT, arXiv 2203.02155, equation 2): -weight * k1.

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


Ratio = Literal["token", "sequence", "sequence_token"]
"""``token``: each token its own (PPO). ``sequence``: the geometric mean over the sequence's tokens (GSPO, equation 7).
``sequence_token``: that value, with the gradient of the single token (GSPO-token, equation 14)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyOptions:
    """Options of any policy-gradient algorithm: KL, entropy, dual clip, importance correction, masking.

    The defaults add nothing, so an algorithm without options is the one of its paper.
    """

    kl_weight: float = 0.0
    """Weight of the KL to the stage's first policy in the loss."""
    kl_estimator: KLEstimator = "k3"
    """Estimator of the KL in the loss; see ``kl_estimate`` for what each one's gradient is."""
    kl_in_reward: float = 0.0
    """Weight of the KL to the stage's first policy in the reward, token by token (PPO) or summed per trajectory."""
    entropy_weight: float = 0.0
    """Weight of the entropy bonus; below 0 it sharpens the policy."""
    dual_clip: float = 0.0
    """Largest ratio that counts against a token with negative advantage; above 1 (3 is usual), 0 for none."""
    importance: Literal["none", "token", "sequence"] = "none"
    """Weighs the policy loss by p(learner) / p(sampler) of a token or of its whole sequence, cut at the cap."""
    importance_cap: float = 2.0
    masks_truncated: bool = False
    """Leaves trajectories that a limit ended out of the loss."""

    def check(self) -> None:
        """Raises UserError for values that no run can mean."""
        for name in ("kl_weight", "kl_in_reward"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise UserError(f"{name}={value} must be a finite number of 0 or more")
        if not math.isfinite(self.entropy_weight):
            raise UserError(f"entropy_weight={self.entropy_weight} must be a finite number; 0 gives no bonus")
        if self.dual_clip != 0 and not 1 < self.dual_clip < math.inf:
            raise UserError(f"dual_clip={self.dual_clip} must be above 1 (3 is usual), or 0 for none")
        if not 0 < self.importance_cap < math.inf:
            raise UserError(f"importance_cap={self.importance_cap} must be a finite number above 0 (2 is usual)")
        if self.importance_cap != PolicyOptions().importance_cap and self.importance == "none":
            raise UserError(f"importance_cap={self.importance_cap} cuts nothing; set importance to token or sequence")


def negative_log_likelihood(tokens: PolicyTokens) -> Loss:
    """Supervised loss: minus the mean log-probability."""
    return Loss(value=-(tokens.weights * tokens.logprobs).sum(), sums={metric.NLL: -tokens.logprobs.detach().sum()})


def clipped_surrogate(
    tokens: PolicyTokens,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    ratio: Ratio = "token",
    options: PolicyOptions = PolicyOptions(),
) -> Loss:
    """PPO's clipped surrogate -min(r A, clip(r, 1 - low, 1 + high) A) (arXiv 1707.06347, equation 7).

    r is the ratio between the policy and the one of the batch's beginning. With a dual clip c the loss of a token
    with A < 0 is at most -c A (arXiv 1912.09729). The importance correction weighs this part alone; KL
    and entropy bonus are added after it, each a mean with the same weights.
    """
    advantages = tokens.advantages
    ratios = log_ratio(tokens, ratio).exp()
    clipped = ratios.clamp(1.0 - clip_low, 1.0 + clip_high)
    losses = -torch.minimum(ratios * advantages, clipped * advantages)
    sums = {**drift_sums(tokens), metric.CLIP_FRACTION: _count(clipped * advantages < ratios * advantages)}
    if options.dual_clip:
        bound = -options.dual_clip * advantages
        is_bound = (advantages < 0) & (losses > bound)
        losses = torch.where(is_bound, bound, losses)
        sums["dual_clip_fraction"] = _count(is_bound)
    if options.importance != "none":
        correction = importance_weights(tokens, options.importance, options.importance_cap)
        losses = losses * correction
        sums["importance_weight"] = correction.sum()
    sums["policy_loss"] = losses.detach().sum()
    if tokens.reference_logprobs is not None:
        # Reported also where the reward alone pays for it.
        penalty = kl_estimate(tokens.logprobs, tokens.reference_logprobs, options.kl_estimator)
        sums[metric.REFERENCE_KL] = penalty.detach().sum()
        losses = losses + options.kl_weight * penalty if options.kl_weight else losses
    elif options.kl_weight:
        raise ValueError(f"kl_weight={options.kl_weight} needs reference_logprobs; the algorithm must ask for them")
    if options.entropy_weight:
        losses = losses - options.entropy_weight * tokens.entropy
    return Loss(value=(tokens.weights * losses).sum(), sums=sums)


def actor_critic(tokens: PolicyTokens, *, policy: PolicyLoss, value_clip: float, value_weight: float) -> Loss:
    """A policy's loss and ``value_weight`` times the critic's: half of max((V - R)^2, (V' - R)^2).

    V' is V kept within ``value_clip`` of where the value stood when the batch arrived, as PPO's first implementation
    has it (its paper, arXiv 1707.06347, equation 9, has (V - R)^2 alone, which is ``value_clip=inf``).
    """
    if tokens.values is None or tokens.old_values is None or tokens.returns is None:
        raise ValueError("a critic's loss needs values, old_values and returns; the learner must run its value head")
    moved = (tokens.values - tokens.old_values).clamp(-value_clip, value_clip)
    errors = (tokens.values - tokens.returns).square()
    clipped_errors = (tokens.old_values + moved - tokens.returns).square()
    losses = 0.5 * torch.maximum(errors, clipped_errors)
    result = policy(tokens)
    sums = {
        **result.sums,
        "value_loss": losses.detach().sum(),
        "value_clip_fraction": _count(clipped_errors > errors),
        "value": tokens.values.detach().sum(),
        "return": tokens.returns.sum(),
    }
    return Loss(value=result.value + value_weight * (tokens.weights * losses).sum(), sums=sums)


def _count(is_so: Bool[Tensor, "tokens"]) -> Float[Tensor, ""]:
    return is_so.sum().to(torch.float32)


def log_ratio(tokens: PolicyTokens, ratio: Ratio) -> Float[Tensor, "tokens"]:
    """log of policy over old policy, cut to +-20; differentiable."""
    own = tokens.logprobs - tokens.old_logprobs
    if ratio == "token":
        return own.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    lengths = _lengths(tokens)
    mean = (_sums(own, lengths) / lengths).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).repeat_interleave(lengths)
    if ratio == "sequence":
        return mean
    return mean.detach() + tokens.logprobs - tokens.logprobs.detach()


def importance_weights(
    tokens: PolicyTokens, level: Literal["token", "sequence"], cap: float
) -> Float[Tensor, "tokens"]:
    """min(p(old policy) / p(sampler), cap), without gradient: the cut ratio of IMPALA (arXiv 1802.01561, equation 1).

    Corrects for a sampler that computes otherwise than the learner does, or that is some steps behind it. A sequence's
    ratio is the product of its tokens'.
    """
    gap = (tokens.old_logprobs - tokens.sampled_logprobs).detach()
    if level == "sequence":
        lengths = _lengths(tokens)
        gap = _sums(gap, lengths).repeat_interleave(lengths)
    return gap.clamp(max=LOG_RATIO_LIMIT).exp().clamp(max=cap)


def drift_sums(tokens: PolicyTokens) -> dict[str, Float[Tensor, ""]]:
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


def _lengths(tokens: PolicyTokens) -> Int[Tensor, "sequences"]:
    """Action tokens of each sequence that has any, in order."""
    lengths: Int[Tensor, sequences] = torch.unique_consecutive(tokens.sequence, return_counts=True)[1]
    return lengths


def _sums(values: Float[Tensor, "tokens"], lengths: Int[Tensor, "sequences"]) -> Float[Tensor, "sequences"]:
    """Sum over each sequence, in an order that does not change from run to run."""
    ends = lengths.cumsum(0).tolist()
    return torch.stack([part.sum() for part in values.tensor_split(ends[:-1])])
