"""What can be added to any policy-gradient algorithm: KL, entropy, dual clip, importance correction, masking."""

import math
from dataclasses import dataclass
from typing import Literal

from saccade.errors import UserError

KLEstimator = Literal["k1", "k2", "k3"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyOptions:
    """The defaults add nothing, so an algorithm without options is the one of its paper."""

    kl_weight: float = 0.0
    """Weight of the KL to the stage's first policy in the loss."""
    kl_estimator: KLEstimator = "k3"
    """Of the KL in the loss; see ``kl_estimate`` for what each one's gradient is."""
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
