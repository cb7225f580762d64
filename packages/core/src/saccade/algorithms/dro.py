"""DRO: likelihood weighted by advantage, held near the sampler by a square, also off policy."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from saccade.algorithms.algorithm import PolicyTokens
from saccade.algorithms.losses import log_ratio


def penalised_likelihood(
    tokens: PolicyTokens, *, beta: float
) -> tuple[Float[Tensor, "tokens"], Mapping[str, Float[Tensor, ""]]]:
    """-(A log p - beta / 2 * (log p / q)^2) of each token (arXiv 2405.19107, equation 8, as Kimi k1.5 has it).

    q is the policy of the batch's beginning. Where A is 0 the square is still pulled to 0.
    """
    return -(tokens.advantages * tokens.logprobs - 0.5 * beta * log_ratio(tokens, "token").square()), {}
