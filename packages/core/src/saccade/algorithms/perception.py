"""What a policy would have said with half of the picture black: PAPO's loss and VPPO's advantages.

Both read, for each token, log p under the learner when the batch arrived with the pictures masked
(``PolicyTokens.masked_logprobs``). How much a token depends on the picture is the k3 estimate of the KL between the
two, cut at 10.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.algorithms.corrections import LOG_RATIO_LIMIT
from saccade.algorithms.options import PerceptionOptions

_MOST = 10.0
"""A dependence beyond it counts no more: PAPO's KL is maximised, and has no bound of its own."""
_LEAST_SPREAD = 1e-6


def dependence(own: Float[Tensor, "tokens"], masked: Float[Tensor, "tokens"]) -> Float[Tensor, "tokens"]:
    """How much each token depends on the picture, in nats: exp(d) - 1 - d for d = log p(masked) - log p, at most 10."""
    difference = (masked - own).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (difference.exp() - 1.0 - difference).clamp(max=_MOST)


def shaped(
    advantages: Sequence[Sequence[float]],
    own: Sequence[Sequence[float]],
    masked: Sequence[Sequence[float]],
    perception: PerceptionOptions,
) -> list[tuple[float, ...]]:
    """VPPO's advantages: for each trajectory one number per action token, as log-probabilities and ``masked`` are.

    A trajectory's advantage is scaled by its mean dependence, from ``least_scale`` for the smallest of the batch on
    such that the mean scale is 1; tokens that are not among the ``token_share`` most dependent have none.
    """
    found = [dependence(torch.tensor(one), torch.tensor(other)) for one, other in zip(own, masked, strict=True)]
    scales = _scales([float(one.mean()) if len(one) else 0.0 for one in found], perception.least_scale)
    return [
        tuple(scale * value if is_kept else 0.0 for value, is_kept in zip(of_row, _most(one, perception), strict=True))
        for of_row, one, scale in zip(advantages, found, scales, strict=True)
    ]


def _scales(means: Sequence[float], least: float) -> list[float]:
    low, high = min(means, default=0.0), max(means, default=0.0)
    if high - low <= _LEAST_SPREAD:
        return [1.0] * len(means)
    places = [(mean - low) / (high - low) for mean in means]
    span = (1.0 - least) / (math.fsum(places) / len(places))
    return [least + span * place for place in places]


def _most(found: Float[Tensor, "tokens"], perception: PerceptionOptions) -> list[bool]:
    """Which tokens are among the most dependent; of equal ones the first."""
    kept = math.ceil(len(found) * perception.token_share)
    chosen = set(found.argsort(descending=True, stable=True)[:kept].tolist())
    return [place in chosen for place in range(len(found))]
