"""Options of any policy-gradient algorithm, of single ones and of pairs, checked before any work."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from saccade.codec.bounds import NotNegative, Positive, check_bounds
from saccade.errors import UserError

KLEstimator = Literal["k1", "k2", "k3"]

Importance = Literal["auto", "none", "token", "sequence", "icepop", "dppo"]
"""``token``: min(learner / sampler, cap) weighs each token. ``sequence``: the same of its whole sequence. ``icepop``: a
token's ratio where it is in the band, 0 elsewhere. ``dppo``: DPPO's mask in the place of the clip, by probabilities
instead of ratios. ``auto``: ``token`` for batches that an older policy sampled, ``none`` for all others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PerceptionOptions:
    """What an algorithm makes of tokens that depend on the picture; the default is nothing."""

    masked_kl_weight: float = 0.0
    """PAPO (arXiv 2507.06448): weight of the KL between the picture and the masked one, which is maximised (0.01 to
    0.02 there). Its double entropy is ``options.entropy_weight`` below 0 (-0.03)."""
    token_share: float = 1.0
    """VPPO (arXiv 2510.09285): share of each trajectory's tokens, the most dependent ones, that the policy gradient
    reaches (0.4 there)."""
    least_scale: float = 1.0
    """VPPO: what the advantage of the least dependent trajectory of a batch is multiplied by (0.9 there); the mean is
    1."""
    black_share: float = 0.6
    """Share of the pictures' patches that are black in the masked ones."""
    patch_px: int = 14
    """Side of such a patch."""

    def check(self) -> None:
        """Raises UserError for values that no run can mean."""
        if not 0 <= self.masked_kl_weight < math.inf:
            raise UserError(
                f"masked_kl_weight={self.masked_kl_weight} must be a finite number of 0 or more (0.01 is usual)"
            )
        for name in ("token_share", "least_scale", "black_share"):
            if not 0 < (value := getattr(self, name)) <= 1:
                raise UserError(f"{name}={value} must be above 0, and 1 at most")
        if self.patch_px < 1:
            raise UserError(f"patch_px={self.patch_px} must be 1 or more")
        for name in ("black_share", "patch_px"):
            if not self.is_used and (value := getattr(self, name)) != getattr(type(self)(), name):
                raise UserError(
                    f"{name}={value} masks pictures for masked_kl_weight, token_share or least_scale; set one"
                )

    @property
    def shapes_advantages(self) -> bool:
        return self.token_share < 1 or self.least_scale < 1

    @property
    def is_used(self) -> bool:
        return self.masked_kl_weight > 0 or self.shapes_advantages


DistillLoss = Literal["sampled", "reverse_kl", "forward_kl", "jsd"]
"""``sampled``: each token that was sampled is an action whose reward is log p(teacher) - log p(policy). The others
compare the two distributions over the whole vocabulary at each such token (``saccade.algorithms.distillation``)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillOptions:
    """How an algorithm learns from a teacher's probabilities of the policy's own tokens; the default is not at all."""

    weight: float = 0.0
    """Weight of the teacher; 0 is none. Beside it ``reward_weight`` weighs the reward."""
    reward_weight: float = 1.0
    """What advantages of the reward are multiplied by; 0 learns from the teacher alone."""
    loss: DistillLoss = "sampled"
    """How the policy is compared with the teacher."""
    teacher_share: float = 0.5
    """For jsd: the teacher's share in the mixture, GKD's beta (arXiv 2306.13649, eq. 1). Near 0 it has the gradient
    of the forward KL, near 1 that of the reverse one."""
    top_k: int = 0
    """For a server and every loss but sampled: its most likely tokens that are compared, all others as one; 0 for a
    teacher whose distribution is here as a whole."""

    def check(self) -> None:
        """Raises UserError for values that no run can mean, or that would have no effect."""
        for name in ("weight", "reward_weight"):
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise UserError(f"{name}={value} must be a finite number of 0 or more")
        if not 0 < self.teacher_share < 1:
            near = "forward_kl" if self.teacher_share <= 0 else "reverse_kl"
            raise UserError(f"teacher_share={self.teacher_share} must lie between 0 and 1; use loss={near}")
        if self.top_k < 0:
            raise UserError(f"top_k={self.top_k} must be 0 or more")
        default = DistillOptions()
        for name in ("teacher_share", "top_k", "loss", "reward_weight"):
            value = getattr(self, name)
            if value != getattr(default, name) and not (self.weight and self._uses(name)):
                why = f"loss={self.loss}" if self.weight else "weight=0, which has no teacher"
                raise UserError(f"{name}={value} has no effect with {why}")

    def _uses(self, name: str) -> bool:
        return {"teacher_share": self.loss == "jsd", "top_k": self.compares_whole}.get(name, True)

    @property
    def compares_whole(self) -> bool:
        """Whether whole distributions are compared, in the learner's forward."""
        return self.weight > 0 and self.loss != "sampled"

    @property
    def is_alone(self) -> bool:
        """Whether no reward teaches beside it."""
        return self.weight > 0 and self.reward_weight == 0


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
    importance: Importance = "auto"
    """How tokens of another policy are weighted: an older one, or one that computes differently."""
    importance_cap: float = 2.0
    """Largest weight under ``token`` and ``sequence``."""
    icepop_low: float = 0.5
    icepop_high: float = 5.0
    """Band of ratios that ``icepop`` keeps."""
    dppo_limit: float = 0.2
    """Distance |p - p(sampler)| of a token's probability beyond which ``dppo`` pushes the token no further."""
    sequence_rejection: float = 0.0
    """Leaves out sequences whose geometric mean of p(learner) / p(sampler) is over this or below its inverse; above 1
    (1.01 or less is usual), 0 for none."""
    masks_truncated: bool = False
    """Leaves trajectories that a limit ended out of the loss."""
    perception: PerceptionOptions = PerceptionOptions()

    def unused(self) -> Mapping[str, str]:
        return {} if self.kl_weight or self.kl_in_reward else {"kl_estimator": "no KL has a weight"}

    def check(self) -> None:
        """Raises UserError for values that no run can mean."""
        self.perception.check()
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
        if not 0 < self.icepop_low < 1 < self.icepop_high < math.inf:
            raise UserError(
                f"icepop_low={self.icepop_low} and icepop_high={self.icepop_high} must lie below and above 1, the "
                "ratio of a token that has not changed (0.5 and 5 are usual)"
            )
        if not 0 < self.dppo_limit < 1:
            raise UserError(
                f"dppo_limit={self.dppo_limit} must lie between 0 and 1 (0.2 is usual): it is a probability"
            )
        if self.sequence_rejection != 0 and not 1 < self.sequence_rejection < math.inf:
            raise UserError(
                f"sequence_rejection={self.sequence_rejection} must be above 1, the mean ratio of a sequence that has "
                "not changed (1.01 or less is usual), or 0 for none"
            )
        if self.importance == "dppo" and self.dual_clip:
            raise UserError(f"dual_clip={self.dual_clip} has nothing to bound: importance=dppo does not clip")
        self._check_use()

    def _check_use(self) -> None:
        """Raises UserError for what is set and would have no effect."""
        for name, users in _USERS.items():
            value = getattr(self, name)
            if value != getattr(_PLAIN, name) and self.importance not in users:
                raise UserError(f"{name}={value} changes nothing with importance={self.importance}; it is for {users}")

    @property
    def needs_weights(self) -> bool:
        """Whether tokens are weighed by the learner's probability, as the batch found it, over the sampler's."""
        return self.importance in ("token", "sequence", "icepop")


_PLAIN = PolicyOptions()
_USERS: Mapping[str, tuple[Importance, ...]] = {
    "importance_cap": ("auto", "token", "sequence"),
    "icepop_low": ("icepop",),
    "icepop_high": ("icepop",),
    "dppo_limit": ("dppo",),
}
"""Which corrections read which setting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateTemperatures:
    """How fast SAPO's gate closes around a ratio of 1."""

    positive: float = 1.0
    """For tokens with a positive advantage."""
    negative: float = 1.05
    """For all others, whose gradients spread over the vocabulary and disturb more."""

    def check(self) -> None:
        for name in ("positive", "negative"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise UserError(f"{name}={value} must be a finite number above 0 (1 is usual)")


@dataclass(frozen=True, kw_only=True, slots=True)
class GammaWeights:
    """VESPO's weight w^k exp(lambda (1 - w)) of a sequence whose ratio is w; it is 1 at w = 1."""

    k_positive: float = 2.0
    lambda_positive: float = 3.0
    k_negative: float = 3.0
    lambda_negative: float = 2.0
    """For tokens with an advantage below 0; the others count as positive."""

    def check(self) -> None:
        for name in self.__slots__:
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise UserError(f"{name}={value} must be a finite number above 0")


PairLossKind = Literal["sigmoid", "robust", "hinge", "ipo"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairLoss:
    """Loss of a pair; the default is DPO's. SimPO is ``length_normalised``, ``reference_free``, ``beta=2``,
    ``target_margin=1``."""

    kind: PairLossKind = "sigmoid"
    """``sigmoid`` is DPO, ``robust`` DPO for labels of which a known share is wrong, ``hinge`` SLiC, ``ipo`` IPO."""
    beta: float = 0.1
    """How strongly the policy is held to its reference: higher stays nearer. IPO's tau."""
    label_smoothing: NotNegative = 0.0
    """For sigmoid and robust: probability that a pair is the wrong way round, below 0.5."""
    length_normalised: bool = False
    """Compares means over tokens instead of sums, so that a longer trajectory counts no more; ipo always does."""
    reference_free: bool = False
    """Compares log-probabilities of the policy alone; no reference is kept."""
    target_margin: NotNegative = 0.0
    """For sigmoid: distance by which the chosen one is to win (SimPO's gamma, arXiv 2405.14734, equation 6)."""
    sft_weight: NotNegative = 0.0
    """Weight of imitating the chosen ones: minus the mean log-probability of all their tokens (RPO's alpha; TRL's
    loss_type sft)."""

    def check(self) -> None:
        """Raises UserError for values that no run can mean, or that would have no effect."""
        check_bounds(self)
        if not 0 < self.beta < math.inf:
            raise UserError(f"beta={self.beta} must be a finite number above 0 (0.1 is usual)")
        if self.label_smoothing >= 0.5:
            raise UserError(f"label_smoothing={self.label_smoothing} must be below 0.5: more turns all pairs round")
        for name, users in (("label_smoothing", ("sigmoid", "robust")), ("target_margin", ("sigmoid",))):
            if getattr(self, name) and self.kind not in users:
                raise UserError(f"{name}={getattr(self, name)} is for kind={' and '.join(users)}, not {self.kind}")
        if self.length_normalised and self.kind == "ipo":
            raise UserError("length_normalised=true changes nothing with kind=ipo, which always is")

    @property
    def is_per_token(self) -> bool:
        return self.length_normalised or self.kind == "ipo"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRule:
    """Choice of pairs in a group."""

    per_group: Positive = 4
    """At most so many pairs of a group. The best trajectory is held against the worst, the second best against the
    second worst, and so on: each is in one pair at most."""
    least_gap: NotNegative = 0.0
    """Rewards of a pair must differ by this or more; equal rewards never make a pair."""

    def check(self) -> None:
        check_bounds(self)
