"""What a token sees where that is not all before it: a sliding window, and the tokens after it in its own picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

AttentionMask = Shaped[Tensor, "rows 1 tokens keys"] | Mapping[str, Shaped[Tensor, "rows 1 tokens keys"]]
"""One for all layers, or one for each kind of layer by the name that transformers has for it."""

SLIDING = "sliding_attention"


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskRule:
    """How the layers of a model look that are not plainly causal."""

    kinds: tuple[str, ...]
    """Of its layers; empty where the model knows one kind and no names for it."""
    window: int
    """Tokens that a sliding layer sees, the last of them the token itself."""
    both_ways: bool
    """Whether tokens of an image see those after them in the same image."""
    in_windows_alone: bool = False
    """Whether they do so in sliding layers alone."""

    @classmethod
    def of(cls, text: Any, *, both_ways: bool, in_windows_alone: bool = False) -> "MaskRule | None":
        """By the configuration of a language model; None where each token sees all before it."""
        kinds = tuple(dict.fromkeys(getattr(text, "layer_types", None) or ()))
        if not both_ways and SLIDING not in kinds:
            return None
        window = int(text.sliding_window) if SLIDING in kinds else 0
        return cls(kinds=kinds, window=window, both_ways=both_ways, in_windows_alone=in_windows_alone)

    def masks(
        self, columns: Int[Tensor, "rows tokens"], keys: Int[Tensor, "keys"], is_image: Bool[Tensor, "rows tokens"]
    ) -> AttentionMask:
        """Bool, true where the tokens at ``columns`` of their rows look. Whole images lie in the chunk."""
        if not self.kinds:
            return self.seen(columns, keys, is_image, slides=False)[:, None]
        return {kind: self.seen(columns, keys, is_image, slides=kind == SLIDING)[:, None] for kind in self.kinds}

    def plain(self, is_image: Bool[Tensor, "rows tokens"]) -> AttentionMask:
        """The same for whole rows, which nothing was kept of."""
        places = torch.arange(is_image.shape[1], device=is_image.device)
        return self.masks(places.expand(is_image.shape), places, is_image)

    def seen(
        self,
        columns: Int[Tensor, "rows tokens"],
        keys: Int[Tensor, "keys"],
        is_image: Bool[Tensor, "rows tokens"],
        *,
        slides: bool,
    ) -> Bool[Tensor, "rows tokens keys"]:
        """Where the tokens of a layer look."""
        last = columns + _to_end_of_image(is_image) if self._looks_ahead(slides) else columns
        seen = keys <= last[..., None]
        return seen & (keys > columns[..., None] - self.window) if slides else seen

    def is_causal(self, is_image: Bool[Tensor, "*rows tokens"], *, length: int, slides: bool) -> bool:
        """Whether these tokens, the last ones of a row of ``length``, see all before them and no more."""
        return not (slides and length > self.window) and not (self._looks_ahead(slides) and bool(is_image.any()))

    def _looks_ahead(self, slides: bool) -> bool:
        return self.both_ways and (slides or not self.in_windows_alone)


def _to_end_of_image(is_image: Bool[Tensor, "rows tokens"]) -> Int[Tensor, "rows tokens"]:
    """How many tokens follow in the same image; 0 for text."""
    count = is_image.shape[1]
    places = torch.arange(count, device=is_image.device).expand(is_image.shape)
    is_last = is_image & ~torch.nn.functional.pad(is_image, (0, 1))[:, 1:]
    ends = torch.where(is_last, places, count).flip(1).cummin(dim=1).values.flip(1)
    return torch.where(is_image, ends - places, 0)
