"""A language model with its weights in bf16, adapters merged, for decode steps and short prompts.

It is for models whose fp32 products are rounded anyway (``LoadSettings.matmul_precision``): factors are rounded as
torch rounds them, sums are in fp32, and half as many bytes are read for each step.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import BFloat16, Float
from torch import Tensor, nn

from saccade.models.plain_layers import PlainLanguageModel, PlainProduct, is_plain
from saccade.native.kernels import Kernels
from saccade.native.layers import KernelOperations
from saccade.native.products import DEEP, TILE


@dataclass(frozen=True, slots=True)
class RoundedWeight:
    """A copy of a weight (columns, depth) in bf16 and in tiles, zeros below its last row."""

    tiles: BFloat16[Tensor, "column_blocks depth_blocks 16 32"]
    columns: int

    @classmethod
    def of(cls, weight: Float[Tensor, "columns depth"]) -> "RoundedWeight | None":
        """Room for a weight, to be filled; None for one whose rows do not fill tiles."""
        columns, depth = weight.shape
        if depth % DEEP:
            return None
        return cls(weight.new_zeros(-(-columns // TILE), depth // DEEP, TILE, DEEP, dtype=torch.bfloat16), columns)

    def fill(self, weight: Float[Tensor, "columns depth"]) -> None:
        whole, rest = divmod(self.columns, TILE)
        depth = weight.shape[1]
        by_rows = self.tiles.transpose(1, 2)
        by_rows[:whole].copy_(weight[: whole * TILE].view(whole, TILE, depth // DEEP, DEEP))
        if rest:
            by_rows[whole, :rest].copy_(weight[whole * TILE :].view(rest, depth // DEEP, DEEP))


class RoundedLayers:
    """Copies of all weights of a language model's layers and of its head."""

    most_rows = 800
    """Tokens up to which these products are faster than ``Products.product``, which rounds the weights anew."""

    def __init__(self, language: PlainLanguageModel[PlainProduct], head: nn.Module, kernels: Kernels) -> None:
        self._head = PlainProduct.of(head) if is_plain(head) else None
        self._products = [product for layer in language.layers for product in layer.products]
        self._products += [] if self._head is None else [self._head]
        found = {id(product): RoundedWeight.of(product.weight) for product in self._products}
        self._weights = {key: weight for key, weight in found.items() if weight is not None}
        self.operations = RoundedOperations(kernels, self._weights)
        self.follow()

    @torch.no_grad()
    def follow(self) -> None:
        """Copies anew what the weights and their adapters are now."""
        for product in self._products:
            if (rounded := self._weights.get(id(product))) is not None:
                adapter, weight = product.adapter, product.weight
                rounded.fill(weight if adapter is None else adapter.merged_into(weight, torch.empty_like(weight)))

    def logits(self, hidden: Float[Tensor, "rows hidden"]) -> Float[Tensor, "rows vocabulary"] | None:
        """What the head makes of hidden states; None for a head that needs its module."""
        return None if self._head is None else self.operations.project(hidden, self._head)


@dataclass(frozen=True, slots=True)
class RoundedOperations(KernelOperations):
    """Products of few rows with rounded weights; others as before."""

    weights: Mapping[int, RoundedWeight]
    """By the identity of their products."""

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: PlainProduct,
        *,
        residual: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        weight = self.weights.get(id(product))
        if weight is None:
            # Two arguments: a class with slots is made anew, and ``super()`` alone would look for the first one.
            return KernelOperations.project(self, states, product, residual=residual)
        return self.kernels.rounded_product(
            states, weight.tiles, columns=weight.columns, bias=product.bias, added=residual
        )
