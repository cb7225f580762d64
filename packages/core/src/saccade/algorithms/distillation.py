"""On-policy distillation: the policy's own tokens, judged by the probabilities that a teacher gives them.

Sources: GKD (arXiv 2306.13649), MiniLLM (arXiv 2306.08543), "On-Policy Distillation" (Thinking Machines, 2025). With p
the policy and q the teacher after the same tokens, at each token that the policy sampled:

- ``sampled``: the reverse KL by its sample. The token is an action with the advantage log q - log p; the policy
  gradient of it has, in expectation over the token, the gradient of -KL(p || q).
- ``reverse_kl``: KL(p || q); ``forward_kl``: KL(q || p), summed over the vocabulary.
- ``jsd``: beta KL(q || m) + (1 - beta) KL(p || m) with m = beta q + (1 - beta) p (GKD, equation 1).

None of them has a gradient through how tokens were sampled: each token answers for itself (a discount of 0).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import log, log1p

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade import metric_names as metric
from saccade.algorithms.algorithm import Algorithm, Loss, PolicyLoss, PolicyTokens
from saccade.algorithms.corrections import LOG_RATIO_LIMIT
from saccade.algorithms.losses import ROUNDING
from saccade.algorithms.options import DistillLoss, DistillOptions

_NEVER = -1e30
"""log p of what is never said: finite, so that p * log p is 0."""
_LEAST_REST = 1e-7
"""Of a distribution, what is left to the tokens that are not listed, at least (as TRL has it)."""


def with_distillation(algorithm: Algorithm, options: DistillOptions) -> Algorithm:
    """The algorithm with a teacher beside its rewards, or in their place; unchanged with a weight of 0.

    The teacher is the stage's (``RLStage.teacher``). UserError for options that no run can mean.
    """
    options.check()
    if not options.weight:
        return algorithm

    def taught(loss: PolicyLoss) -> PolicyLoss:
        return partial(_distilled, policy=loss, options=options)

    stale = None if algorithm.stale_loss is None else taught(algorithm.stale_loss)
    name = f"{algorithm.name} with a teacher"
    return replace(algorithm, name=name, loss=taught(algorithm.loss), stale_loss=stale, distill=options)


def _distilled(tokens: PolicyTokens, *, policy: PolicyLoss, options: DistillOptions) -> Loss:
    """The policy's loss, whose advantages hold the sampled form already, and ``weight`` times the divergence."""
    result = policy(tokens)
    sums = dict(result.sums)
    if tokens.teacher_logprobs is not None:
        sums[metric.TEACHER_KL] = (tokens.logprobs.detach() - tokens.teacher_logprobs).sum()
    if not options.compares_whole:
        return Loss(value=result.value, sums=sums)
    if tokens.divergence is None:
        raise ValueError(
            f"distill.loss={options.loss} needs the teacher's distributions; the stage must have a teacher"
        )
    sums[metric.TEACHER_DIVERGENCE] = tokens.divergence.detach().sum()
    value = result.value + options.weight * (tokens.weights * tokens.divergence).sum()
    return Loss(value=value, sums=sums)


def teacher_advantages(
    advantages: Sequence[float], own: Sequence[float], teacher: Sequence[float], options: DistillOptions
) -> tuple[float, ...]:
    """Of each action token: ``reward_weight`` times its advantage plus ``weight`` times log q - log p.

    ``own`` are the policy's log-probabilities as the batch was sampled, or arrived. A difference is cut at
    +-``LOG_RATIO_LIMIT``, and is 0 where it is rounding, of which Adam would make whole steps.
    """
    return tuple(
        options.reward_weight * advantage + options.weight * _difference(other - mine)
        for advantage, mine, other in zip(advantages, own, teacher, strict=True)
    )


def _difference(value: float) -> float:
    return max(-LOG_RATIO_LIMIT, min(LOG_RATIO_LIMIT, value)) if abs(value) > ROUNDING else 0.0


def divergence(
    own: Float[Tensor, "tokens vocabulary"], teacher: Float[Tensor, "tokens vocabulary"], loss: DistillLoss, beta: float
) -> Float[Tensor, "tokens"]:
    """How far two distributions are apart, in nats, from their log-probabilities; 0 where they differ by rounding.

    Differentiable in ``own``. Where both never say a token it counts nothing.
    """
    own, teacher = own.clamp_min(_NEVER), teacher.clamp_min(_NEVER)
    if loss == "reverse_kl":
        found = _kl(own, teacher)
    elif loss == "forward_kl":
        found = _kl(teacher, own)
    else:
        mixture = torch.logaddexp(own + log1p(-beta), teacher + log(beta))
        found = beta * _kl(teacher, mixture) + (1.0 - beta) * _kl(own, mixture)
    return torch.where((own.detach() - teacher).abs().amax(dim=-1) > ROUNDING, found, 0.0)


def _kl(one: Float[Tensor, "tokens vocabulary"], other: Float[Tensor, "tokens vocabulary"]) -> Float[Tensor, "tokens"]:
    return (one.exp() * (one - other)).sum(dim=-1)


def listed_and_rest(
    logprobs: Float[Tensor, "tokens vocabulary"], listed: Int[Tensor, "tokens k"]
) -> Float[Tensor, "tokens k_and_rest"]:
    """log-probabilities of the listed tokens and of all others together."""
    return with_rest(logprobs.gather(-1, listed))


def with_rest(listed: Float[Tensor, "tokens k"]) -> Float[Tensor, "tokens k_and_rest"]:
    """log-probabilities of listed tokens, and of all others together: log(1 - sum), at least of ``_LEAST_REST``.

    What is compared so is never further apart than the whole distributions are, and as far where nothing is left.
    """
    total = torch.logsumexp(listed, dim=-1, keepdim=True).clamp(max=-_LEAST_REST)
    return torch.cat([listed, torch.log(-torch.expm1(total))], dim=-1)
