"""What an algorithm is: a value that the trainer applies without knowing its name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.aggregation import Aggregation
from saccade.types import Group


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyTokens:
    """Action tokens of a micro-batch, sequence after sequence; every tensor has shape (action tokens,).

    Whole sequences only: a sequence's tokens are never spread over two micro-batches.
    """

    logprobs: Tensor
    """Of the policy that is trained, at the sampling temperature; differentiable."""
    sampled_logprobs: Tensor
    """Of the engine when it sampled."""
    old_logprobs: Tensor
    """Of the learner when the batch arrived; equal to ``sampled_logprobs`` where the learner did not work them out."""
    advantages: Tensor
    weights: Tensor
    """Share of each token in the mean over the whole batch, so that any split gives the same gradient."""
    sequence: Tensor
    """Index of each token's sequence in the micro-batch, from 0, never descending; int64."""
    entropy: Tensor
    """Of the next-token distribution, in nats; differentiable where the caller asked for it."""
    reference_logprobs: Tensor | None = None
    """Of the reference policy, where the algorithm needs one."""
    values: Tensor | None = None
    """Of the critic that is trained, where there is one; differentiable."""
    old_values: Tensor | None = None
    """Of the critic when the batch arrived."""
    returns: Tensor | None = None
    """What the critic should have said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A scalar to differentiate, and sums over action tokens to report as means over the batch's tokens."""

    value: Tensor
    sums: Mapping[str, Tensor]


class PolicyLoss(Protocol):
    """The loss of one micro-batch: the sum over its tokens of weight times loss."""

    def __call__(self, tokens: PolicyTokens, /) -> Loss: ...


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """How scored groups become a gradient."""

    name: str
    """For logs and reports; the trainer never decides by it."""
    advantages: Callable[[Sequence[Group]], GroupAdvantages]
    loss: PolicyLoss
    aggregation: Aggregation = Aggregation()
    needs_reference: bool = False
    """Whether the loss wants log-probabilities under the policy that the stage started from."""
