"""VESPO: sequences weigh by a smooth function of their ratio to the sampler."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyTokens
from saccade.algorithms.corrections import LOG_RATIO_LIMIT, lengths_of, sums_of
from saccade.algorithms.options import GammaWeights, PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient
from saccade.errors import UserError

_LEAST = math.log(1e-8)


def vespo(*, weights: GammaWeights = GammaWeights(), options: PolicyOptions = PolicyOptions()) -> Algorithm:
    """VESPO (arXiv 2602.10693), the mean over tokens. It corrects for other samplers by itself."""
    weights.check()
    if options.importance not in ("auto", "none"):
        raise UserError(
            f"options.importance={options.importance} would correct twice: vespo's weights compare with the sampler"
        )
    algorithm = policy_gradient(
        "vespo",
        group_relative,
        surrogate=partial(gamma_weighted, weights=weights),
        aggregation=Aggregation(over="tokens"),
        options=replace(options, importance="none"),
    )
    return replace(algorithm, corrects_always=True)


def gamma_weighted(
    tokens: PolicyTokens, *, weights: GammaWeights
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """-phi(w) A log p, where phi has no gradient and w is the product of the sequence's ratios to the sampler."""
    lengths = lengths_of(tokens.sequence)
    own = (tokens.logprobs.detach() - tokens.sampled_logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    log_w = sums_of(own, lengths).clamp(_LEAST, LOG_RATIO_LIMIT).repeat_interleave(lengths)
    is_negative = tokens.advantages < 0
    k = torch.full_like(log_w, weights.k_positive).masked_fill(is_negative, weights.k_negative)
    rate = torch.full_like(log_w, weights.lambda_positive).masked_fill(is_negative, weights.lambda_negative)
    phi = (rate + k * log_w - rate * log_w.exp()).exp()
    return -phi * tokens.advantages * tokens.logprobs, {"vespo_weight": phi.sum()}
