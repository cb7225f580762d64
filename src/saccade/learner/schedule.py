"""Learning rates as a function of the step alone, so that a resumed run continues exactly."""

import math
from typing import Literal

Decay = Literal["constant", "linear", "cosine"]


def learning_rate(
    step: int, *, peak: float, steps: int, warmup_steps: int = 0, decay: Decay = "constant", floor: float = 0.0
) -> float:
    """Rate of the update with index ``step`` (from 0) of ``steps``: linear warm-up, then decay to ``floor * peak``."""
    if step < warmup_steps:
        return peak * (step + 1) / (warmup_steps + 1)
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    if decay == "constant":
        return peak
    remaining = 1.0 - progress if decay == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak * (floor + (1.0 - floor) * remaining)
