"""How the losses of single tokens become one number: the share that each token has in the mean of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregation:
    """Which mean is taken over a batch of sequences."""

    over: Literal["tokens", "sequences", "constant"] = "tokens"
    """``tokens``: every token counts the same (DAPO, equation 8). ``sequences``: every sequence counts the same, its
    tokens share (GRPO, equation 3; GSPO). ``constant``: tokens count ``1 / length`` each (Dr. GRPO)."""
    length: int = 0
    """Tokens that a sequence of full length has, for ``constant``."""

    def __post_init__(self) -> None:
        if self.over == "constant" and self.length < 1:
            raise UserError(f"length={self.length} must be 1 or more: each token counts 1 / length of a sequence")
        if self.over != "constant" and self.length:
            raise UserError(f"length={self.length} would have no effect with over={self.over!r}; leave it out")

    def token_weights(self, counts: Sequence[int]) -> list[float]:
        """For each sequence the weight of one of its tokens; ``counts`` are action tokens, 0 for those left out."""
        trained = sum(1 for count in counts if count)
        if self.over == "tokens":
            return [1.0 / sum(counts) if count else 0.0 for count in counts]
        if self.over == "sequences":
            return [1.0 / (trained * count) if count else 0.0 for count in counts]
        return [1.0 / (trained * self.length) if count else 0.0 for count in counts]
