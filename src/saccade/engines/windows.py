"""What torch's attention sees of the slots in one forward, where no native kernels look at them directly."""

from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.models.decoding import Attend
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """What the attention layers of transformers write to and read from in one forward."""

    storage: Tensor
    """(key or value, layer, row, head, token, dim), a view of the slots that take part."""
    rows: Tensor
    """(rows, 1)"""
    columns: Tensor
    """(rows, width): where each new token goes in its row."""
    total: int
    """Tokens that attention reads, from the start of each row."""
    prefix: SharedPrefix | None
    """Where rows begin alike."""

    @property
    def mask(self) -> Tensor:
        """(rows, 1, width, total): each new token looks at its own row up to itself.

        Bool, true where it looks; with a ``prefix`` of what follows that alone, to be added to the scores.
        """
        start = self.prefix.length if self.prefix else 0
        seen = (torch.arange(start, self.total, device=self.columns.device) <= self.columns[:, :, None])[:, None]
        if self.prefix is None:
            return seen
        return torch.zeros(seen.shape, dtype=self.storage.dtype).masked_fill(~seen, float("-inf"))

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Writes new keys and values (rows, head, width, dim); returns those of the whole rows."""
        for part, written in zip(self.storage[:, layer], (keys, values)):
            part[self.rows, :, self.columns] = written.transpose(1, 2)
        kv_cache = self.storage[:, layer, :, :, : self.total]
        return kv_cache[0], kv_cache[1]

    def attention(self) -> Attend:
        """How single new tokens attend to their rows; on a CPU only."""
        mask, prefix = self.mask, self.prefix

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            keys, values = self.update(key[:, :, None], value[:, :, None], layer)
            queries = query[:, :, None]
            if prefix is None:
                return attend_folded(queries, keys, values, mask, scale).flatten(1)
            return attend_sharing(queries, keys, values, mask, prefix, scale).flatten(1)

        return attend
