"""Algorithm as a value: advantages, loss and filters that the trainer applies without knowing their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from jaxtyping import Float, Int
from torch import Tensor

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.critic import Critic
from saccade.algorithms.options import DistillOptions, PairLoss, PairRule, PerceptionOptions
from saccade.errors import UserError
from saccade.types import Group, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyTokens:
    """Action tokens of a micro-batch, sequence after sequence.

    Whole sequences only: a sequence's tokens are never spread over two micro-batches.
    """

    logprobs: Float[Tensor, "tokens"]
    """Log-probabilities under the policy that is trained, at the sampling temperature; differentiable."""
    sampled_logprobs: Float[Tensor, "tokens"]
    """Log-probabilities of the engine when it sampled."""
    old_logprobs: Float[Tensor, "tokens"]
    """Log-probabilities of the learner when the batch arrived; ``sampled_logprobs`` where it did not compute them."""
    advantages: Float[Tensor, "tokens"]
    weights: Float[Tensor, "tokens"]
    """Share of each token in the mean over the whole batch, so that any split gives the same gradient."""
    sequence: Int[Tensor, "tokens"]
    """Index of each token's sequence in the micro-batch, from 0, never descending; int64."""
    entropy: Float[Tensor, "tokens"]
    """Entropy of the next-token distribution, in nats; differentiable where the caller asked for it."""
    reference_logprobs: Float[Tensor, "tokens"] | None = None
    """Log-probabilities under the reference policy, where the algorithm needs one."""
    masked_logprobs: Float[Tensor, "tokens"] | None = None
    """Log-probabilities of the learner when the batch arrived, with the pictures masked, where the algorithm needs
    them (``saccade.algorithms.perception``)."""
    teacher_logprobs: Float[Tensor, "tokens"] | None = None
    """Log-probabilities under the teacher, where the algorithm learns from those of sampled tokens."""
    divergence: Float[Tensor, "tokens"] | None = None
    """How far the policy's distribution is from the teacher's, where the algorithm compares whole ones;
    differentiable."""
    values: Float[Tensor, "tokens"] | None = None
    """Values of the critic that is trained, where there is one; differentiable."""
    old_values: Float[Tensor, "tokens"] | None = None
    """Values of the critic when the batch arrived."""
    returns: Float[Tensor, "tokens"] | None = None
    """Targets of the critic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A scalar to differentiate, and sums over action tokens to report as means over the batch's tokens."""

    value: Float[Tensor, ""]
    sums: Mapping[str, Float[Tensor, ""]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregation:
    """How the losses of single tokens become one number: the share that each has in the mean of a batch."""

    over: Literal["tokens", "sequences", "constant", "sum"] = "tokens"
    """``tokens``: every token counts the same (DAPO, equation 8). ``sequences``: every sequence counts the same, its
    tokens share (GRPO, equation 3; GSPO). ``constant``: tokens count ``1 / length`` each (Dr. GRPO). ``sum``: tokens
    count 1 each, for advantages that are shares of the mean already (DPO)."""
    length: int = 0
    """Tokens that a sequence of full length has, for ``constant``."""

    def __post_init__(self) -> None:
        if self.over == "constant" and self.length < 1:
            raise UserError(f"length={self.length} must be 1 or more: each token counts 1 / length of a sequence")
        if self.over != "constant" and self.length:
            raise UserError(f"length={self.length} would have no effect with over={self.over!r}; leave it out")

    def token_weights(self, counts: Sequence[int]) -> list[float]:
        """For each sequence the weight of one of its tokens; ``counts`` are action tokens, 0 for those left out."""
        if self.over == "sum":
            return [1.0 if count else 0.0 for count in counts]
        trained = sum(1 for count in counts if count)
        if self.over == "tokens":
            return [1.0 / sum(counts) if count else 0.0 for count in counts]
        if self.over == "sequences":
            return [1.0 / (trained * count) if count else 0.0 for count in counts]
        return [1.0 / (trained * self.length) if count else 0.0 for count in counts]


class PolicyLoss(Protocol):
    """The loss of one micro-batch: the sum over its tokens of weight times loss."""

    def __call__(self, tokens: PolicyTokens, /) -> Loss: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference:
    """How trajectories of a group are compared in pairs."""

    loss: PairLoss = PairLoss()
    rule: PairRule = PairRule()


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """How scored groups become a gradient."""

    name: str
    """For logs and reports; the trainer never decides by it."""
    advantages: Callable[[Sequence[Group]], GroupAdvantages]
    """Advantages of all groups of the batch at once; unused where there is a critic, which has its own ``targets``, or
    a ``preference``."""
    loss: PolicyLoss
    stale_loss: PolicyLoss | None = None
    """The loss of a batch that an older policy sampled, corrected for that; it is given ``old_logprobs`` of the
    learner's own. None takes ``loss`` for such batches too."""
    aggregation: Aggregation = Aggregation()
    needs_reference: bool = False
    """Whether the loss or the reward needs log-probabilities under the policy that the stage started from."""
    needs_old_logprobs: bool = False
    """Whether the learner must work out ``old_logprobs`` itself even when a batch takes one step: an importance
    correction compares them with the sampler's, and would silently be 1 where they stand in for each other."""
    needs_entropy_gradient: bool = False
    """Whether ``PolicyTokens.entropy`` must be differentiable."""
    kl_in_reward: float = 0.0
    """Weight of the KL to the reference that is taken from the reward; see ``saccade.algorithms.policy_gradient``."""
    keep_group: Callable[[Group], bool] | None = None
    """Which groups enter the batch; None keeps all."""
    corrects_always: bool = False
    """Whether ``loss`` itself corrects for tokens that another policy sampled."""
    keep_sequence: Callable[[Sequence[float], Sequence[float]], bool] | None = None
    """Which sequences are learned from, by the log-probabilities of their action tokens: the learner's when the batch
    arrived, and the sampler's. Those left out stay in their group's mean; None keeps all."""
    max_refills: int = 0
    """Extra rounds of questions that may be asked to replace the groups that ``keep_group`` left out."""
    shape_reward: Callable[[Trajectory], float] | None = None
    """A term of the algorithm's own, added to the score."""
    masks_truncated: bool = False
    """Whether trajectories that a limit ended are left out of the loss; they stay in their group's mean."""
    critic: Critic | None = None
    perception: PerceptionOptions | None = None
    """What is made of tokens that depend on the picture; the learner works out ``masked_logprobs`` for it."""
    distill: DistillOptions | None = None
    """How it learns from a teacher (``saccade.algorithms.distillation``); the stage says from which."""
    preference: Preference | None = None
    """Compares pairs of trajectories by how likely they are: then advantages are those of ``compared_pairs``,
    and what is in no pair is not learned from."""
    turn_rewards: Callable[[Trajectory], Sequence[float]] | None = None
    """For the critic: what each turn earned, adding up to the score; None puts the whole score at the end."""

    def __post_init__(self) -> None:
        if self.kl_in_reward and not self.needs_reference:
            raise UserError(f"kl_in_reward={self.kl_in_reward} compares with a reference; set needs_reference=True")
        if self.keep_sequence is not None and not self.needs_old_logprobs:
            raise UserError(
                "keep_sequence compares with the learner's own log-probabilities; set needs_old_logprobs=True"
            )
        if self.max_refills < 0:
            raise UserError(f"max_refills={self.max_refills} must be 0 or more")
        if self.max_refills and self.keep_group is None:
            raise UserError(f"max_refills={self.max_refills} refills nothing without keep_group; give a rule or use 0")

    def loss_of(self, *, is_stale: bool) -> PolicyLoss:
        """The loss of a batch that the present policy sampled, or an older one."""
        return self.stale_loss if is_stale and self.stale_loss is not None else self.loss

    def compares_with_sampler(self, *, is_stale: bool) -> bool:
        """Whether the learner must work out ``old_logprobs`` of such a batch."""
        return self.needs_old_logprobs or (is_stale and self.stale_loss is not None)

    @property
    def corrects_stale(self) -> bool:
        """Whether batches that an older policy sampled are corrected for; where false, the run says so."""
        return self.corrects_always or self.stale_loss is not None

    @property
    def learns_without_advantage(self) -> bool:
        """Whether tokens of zero advantage may have a gradient; where false, their sequences need no forward pass.

        They stay in the counts that give tokens their weights: leaving them out there would change the mean. A loss
        of your own that teaches such tokens without a reference, an entropy gradient or a critic must set one.
        """
        if self.preference is not None:
            return False
        needs = (self.needs_reference, self.needs_entropy_gradient, self.critic is not None, self.distill is not None)
        return any(needs) or (self.perception is not None and self.perception.masked_kl_weight > 0)
