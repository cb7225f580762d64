"""The critic's network: from what the language model thinks before a token to the return it expects from there."""

import math

import torch
from torch import Tensor, nn


class ValueHead(nn.Module):
    """A small MLP on the last hidden state, in fp32 whatever the trunk's precision.

    The value of an action token is read where the token is predicted: at the position before it, so it depends on
    what the policy saw and not on what it chose. The output layer starts at zero: an untrained critic says 0
    everywhere, and the first advantages are the rewards. Whether its gradient goes on into the language model is
    the learner's to say.
    """

    def __init__(self, hidden_size: int, *, width: int = 0, seed: int = 0) -> None:
        """``width`` is the MLP's, ``hidden_size`` by default; the same seed gives the same weights."""
        super().__init__()
        # Layers draw from the global generator when they are made, which must not notice.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            self.inner = nn.Linear(hidden_size, width or hidden_size, dtype=torch.float32)
            self.outer = nn.Linear(width or hidden_size, 1, dtype=torch.float32)
            generator = torch.Generator().manual_seed(seed)
            self.inner.weight.normal_(0.0, 1.0 / math.sqrt(hidden_size), generator=generator)
            for zeroed in (self.inner.bias, self.outer.weight, self.outer.bias):
                zeroed.zero_()

    def forward(self, hidden: Tensor) -> Tensor:
        """Values (action tokens,) of hidden states (action tokens, hidden size) after the model's final norm."""
        values: Tensor = self.outer(nn.functional.silu(self.inner(hidden.float())))
        return values[:, 0]
