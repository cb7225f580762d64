"""SAPO: a smooth gate in the place of the clip."""

from collections.abc import Mapping
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm, PolicyTokens
from saccade.algorithms.losses import log_ratio
from saccade.algorithms.options import GateTemperatures, PolicyOptions
from saccade.algorithms.policy_gradient import policy_gradient


def sapo(*, temperatures: GateTemperatures = GateTemperatures(), options: PolicyOptions = PolicyOptions()) -> Algorithm:
    """SAPO (arXiv 2511.20347), the mean over sequences."""
    temperatures.check()
    surrogate = partial(gated, temperatures=temperatures)
    return policy_gradient(
        "sapo", group_relative, surrogate=surrogate, aggregation=Aggregation(over="sequences"), options=options
    )


def gated(
    tokens: PolicyTokens, *, temperatures: GateTemperatures
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """-4 / t sigmoid(t (r - 1)) A: at r = 1 its gradient is PPO's, and it falls to both sides."""
    advantages = tokens.advantages
    t = torch.full_like(advantages, temperatures.negative).masked_fill(advantages > 0, temperatures.positive)
    gates = torch.sigmoid(t * (log_ratio(tokens, "token").exp() - 1.0))
    # 4 s (1 - s) is what is left of a token's gradient.
    return -4.0 / t * gates * advantages, {"gate": (4.0 * gates * (1.0 - gates)).detach().sum()}
