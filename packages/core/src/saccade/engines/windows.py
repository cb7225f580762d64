"""Windows on cached keys and values: what transformers' attention layers write to and read from in one forward."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from saccade.models.plain_forward import Attend
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing

RowStates = Float[Tensor, "rows heads tokens dim"]
Exchange = Callable[[RowStates, RowStates, int], tuple[RowStates, RowStates]]
"""Writes new keys and values of a layer; gives those of the whole rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Some rows of a cache, as one forward of new tokens sees them."""

    exchange: Exchange
    columns: Int[Tensor, "rows width"]
    """Where each new token goes in its row."""
    total: int
    """Tokens that attention reads, from the start of each row."""
    dtype: torch.dtype
    prefix: SharedPrefix | None
    """Where rows begin alike."""

    @property
    def mask(self) -> Shaped[Tensor, "rows 1 width keys"]:
        """Each new token looks at its own row up to itself.

        Bool, true where it looks; with a ``prefix`` of what follows that alone, to be added to the scores.
        """
        start = self.prefix.length if self.prefix else 0
        seen = (torch.arange(start, self.total, device=self.columns.device) <= self.columns[:, :, None])[:, None]
        if self.prefix is None:
            return seen
        return torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, float("-inf"))

    def update(
        self, keys: RowStates, values: RowStates, layer: int, *_: object, **__: object
    ) -> tuple[RowStates, RowStates]:
        """Writes new keys and values; returns those of the whole rows. The name is transformers'."""
        return self.exchange(keys, values, layer)

    def attention(self) -> Attend:
        """How single new tokens attend to their rows."""
        mask, prefix = self.mask, self.prefix

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            keys, values = self.exchange(key[:, :, None], value[:, :, None], layer)
            queries = query[:, :, None]
            if prefix is None:
                return attend_folded(queries, keys, values, mask, scale).flatten(1)
            return attend_sharing(queries, keys, values, mask, prefix, scale).flatten(1)

        return attend
