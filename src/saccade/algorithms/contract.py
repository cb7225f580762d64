"""What an algorithm is: a value that the trainer applies without knowing its name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.losses import Loss
from saccade.types import Group


class PolicyLoss(Protocol):
    """The loss of one micro-batch; tensors have shape (tokens,)."""

    def __call__(
        self,
        logprobs: Tensor,
        *,
        sampled_logprobs: Tensor,
        advantages: Tensor,
        total_tokens: int,
        reference_logprobs: Tensor | None = None,
    ) -> Loss: ...


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """How scored groups become a gradient."""

    advantages: Callable[[Sequence[Group]], GroupAdvantages]
    loss: PolicyLoss
    needs_reference: bool = False
    """Whether the loss wants log-probabilities under the policy that the stage started from."""
